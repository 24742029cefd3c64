#include "oci/document_end.h"

#include <cstddef>

namespace sidecall::oci {

bool is_whole_document(std::string_view bytes) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const char c = bytes[at];
    if (in_string) {
      if (c == '\\') {
        ++at;  // whatever it is, it does not end the string
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth <= 1) return true;
      --depth;
    } else if (depth == 0) {
      if (c != ' ' && c != '\t' && c != '\r' && c != '\n') return true;
    } else if (c == '"') {
      in_string = true;
    }
  }
  return false;
}

}  // namespace sidecall::oci

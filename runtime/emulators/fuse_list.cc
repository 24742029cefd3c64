#include "emulators/fuse_list.h"

#include <algorithm>

namespace sidecall::emulators {
namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    if (end > 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

}  // namespace

Result<FuseList> FuseList::parse(const std::vector<std::string>& entries,
                                 const FilesystemList& filesystems) {
  FuseList list;
  for (const std::string& text : entries) {
    const auto colon = text.find(':');
    const auto type = words_of(std::string_view(text).substr(0, colon));
    auto command = words_of(colon == std::string::npos ? std::string_view()
                                                       : std::string_view(text).substr(colon + 1));
    if (type.size() != 1 || command.empty()) {
      return failure("\"" + text + "\" is no type with a program: \"ext4: fuse2fs\"");
    }
    const std::string& program = command.front();
    if (program.front() != '/' && program.find('/') != std::string::npos) {
      return failure("\"" + text + "\": a program is a name or an absolute path");
    }
    const auto* entry = filesystems.find(type.front());
    if (entry == nullptr || entry->kind != FilesystemList::Kind::kDevice) {
      return failure("\"" + text + "\": \"" + type.front() +
                     "\" is no type of a block device that \"filesystems\" lists");
    }
    if (entry->any_option) {
      return failure("\"" + text + "\": list the options of \"" + type.front() +
                     "\" by name, not *: the program gets them");
    }
    if (!list.commands_.emplace(type.front(), std::move(command)).second) {
      return failure("\"" + type.front() + "\" is there twice");
    }
  }
  return list;
}

const std::vector<std::string>* FuseList::command(std::string_view type) const {
  const auto found = commands_.find(type);
  return found == commands_.end() ? nullptr : &found->second;
}

}  // namespace sidecall::emulators

// The plugin of emulator.py in C++.
#include <fcntl.h>
#include <sys/utsname.h>

#include <cstdio>
#include <cstring>

#include "plugin/plugin.h"

namespace {

using namespace sidecall;          // NOLINT(google-build-using-namespace): a program's main file
using namespace sidecall::plugin;  // NOLINT(google-build-using-namespace)

v1::ServeResponse tell_names(const v1::Call& /*call*/, const v1::Container& /*container*/) {
  utsname names{};
  std::strcpy(names.sysname, "Linux");
  std::strcpy(names.release, "9.9.9-example");
  return with(value(0), 0, {reinterpret_cast<const char*>(&names), sizeof names});
}

v1::ServeResponse open_virtual(const v1::Call& call, const v1::Container& container) {
  if (bytes_of(call, 1) != "/proc/cpuinfo") return proceed();
  const bool cloexec = (call.args(2) & O_CLOEXEC) != 0;
  return file("processor\t: 0\nmodel name\t: as the plugin says to " + container.id() + "\n",
              cloexec);
}

}  // namespace

int main(int argc, char** argv) {
  const auto ended =
      plugin::run(argc > 1 ? argv[1] : "",
                  {serves("uname", {writes_struct(0, sizeof(utsname))}, true, tell_names),
                   serves("openat", {reads_string(1)}, true, open_virtual)});
  if (!ended) std::fprintf(stderr, "%s\n", ended.error().message.c_str());
  return ended ? 0 : 1;
}

#include "bridge/settings.h"

#include "emulators/wire.h"

namespace sidecall::bridge {

std::string encode(const Settings& settings) {
  emulators::wire::Writer out;
  out.text(settings.sandbox);
  out.count(settings.annotations.size());
  for (const auto& [key, value] : settings.annotations) {
    out.text(key);
    out.text(value);
  }
  out.count(settings.plugins.size());
  for (const std::string& plugin : settings.plugins) out.text(plugin);
  return out.take();
}

Result<Settings> decode_settings(std::string_view bytes) {
  emulators::wire::Reader in(bytes);
  Settings settings;
  settings.sandbox = in.text();
  for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
    std::string key = in.text();
    settings.annotations.insert_or_assign(std::move(key), in.text());
  }
  settings.plugins.resize(in.count());
  for (std::string& plugin : settings.plugins) plugin = in.text();
  if (!in.ok() || !in.at_end()) return failure("settings that are cut or too long");
  return settings;
}

}  // namespace sidecall::bridge

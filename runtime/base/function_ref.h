// A reference to something callable, for as long as a call lasts: no allocation, no ownership.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace sidecall {

template <typename Signature>
class FunctionRef;

// As a parameter only: what it refers to may be a temporary of the call.
template <typename R, typename... Args>
class FunctionRef<R(Args...)> {
 public:
  // Not explicit: a lambda is passed as it stands.
  template <typename F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>)
      FunctionRef(F&& callable)  // NOLINT(google-explicit-constructor,bugprone-forwarding-*)
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),  // NOLINT
        call_([](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<Args>(args)...);
        }) {}

  R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

}  // namespace sidecall

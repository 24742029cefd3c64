// Where parameters and attributes are: memory that can be read, in part or not at all; sizes.
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "grid/caller.h"
#include "grid/sched.h"

namespace sidecall::grid {
namespace {

constexpr std::array kUnreadable = {Border::Beyond::kUnmapped, Border::Beyond::kNoAccess};
constexpr std::uint32_t kPage = 4096;

long policy_from(const void* parameter) {
  return ::syscall(SYS_sched_setscheduler, 0, SCHED_RR, parameter);
}

const void* at_address(std::uintptr_t address) {
  return reinterpret_cast<const void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

template <typename T>
void* place_before(const Border& border, const T& value, std::size_t size = sizeof(T)) {
  return std::memcpy(border.line() - size, &value, size);
}

// A page of attributes whose size says so, with `value` in its last byte.
std::array<unsigned char, std::size_t{2} * kPage> large_attributes(std::uint32_t size,
                                                                   unsigned char value) {
  std::array<unsigned char, std::size_t{2} * kPage> bytes{};
  const Attributes wanted{.size = size, .policy = SCHED_RR, .priority = 2};
  std::memcpy(bytes.data(), &wanted, sizeof wanted);
  bytes.at(size - 1) = value;
  return bytes;
}

constexpr Case kCases[] = {
    {"parameter at NULL", Off::kHolds,
     [](const Checks& check) {
       check.fails("sched_setscheduler", policy_from(nullptr), EINVAL);
       check.fails("sched_setparam", ::syscall(SYS_sched_setparam, 0, nullptr), EINVAL);
       check.fails("of no thread", ::syscall(SYS_sched_setparam, 999'999, nullptr), EINVAL);
     }},
    {"parameter where nothing is", Off::kHolds,
     [](const Checks& check) {
       for (const std::uintptr_t address :
            {std::uintptr_t{1}, UINTPTR_MAX, ~(UINTPTR_MAX >> 1U), UINTPTR_MAX - 2}) {
         check.fails("sched_setscheduler", policy_from(at_address(address)), EFAULT);
         check.fails("sched_setparam", ::syscall(SYS_sched_setparam, 0, address), EFAULT);
         check.fails("of no thread", ::syscall(SYS_sched_setparam, 999'999, address), EFAULT);
       }
     }},
    {"parameter on a page that cannot be read", Off::kHolds,
     [](const Checks& check) {
       for (const auto beyond : kUnreadable) {
         const Border border(check, beyond);
         check.fails("on the page", policy_from(border.line()), EFAULT);
         check.fails("half on the page", policy_from(border.line() - 2), EFAULT);
       }
     }},
    {"parameter that ends with a page", Off::kFails,
     [](const Checks& check) {
       const sched_param parameter{.sched_priority = 3};
       for (const auto beyond : kUnreadable) {
         check.gives("before the page", policy_from(place_before(Border(check, beyond), parameter)),
                     0);
       }
       check.holds("it is set", has_policy(0, SCHED_RR, 3));
     }},
    {"parameter that cannot be written", Off::kFails,
     [](const Checks& check) {
       static constexpr sched_param kParameter{.sched_priority = 3};
       check.gives("the call", policy_from(&kParameter), 0);
     }},
    {"attributes at NULL", Off::kHolds,
     [](const Checks& check) {
       check.fails("the call", set_attributes(0, nullptr), EINVAL);
       check.fails("of no thread", set_attributes(999'999, nullptr), EINVAL);
     }},
    {"attributes where nothing is", Off::kHolds,
     [](const Checks& check) {
       for (const std::uintptr_t address :
            {std::uintptr_t{1}, UINTPTR_MAX, ~(UINTPTR_MAX >> 1U), UINTPTR_MAX - 2}) {
         check.fails("the call", set_attributes(0, at_address(address)), EFAULT);
         check.fails("with flags", set_attributes(0, at_address(address), 1), EINVAL);
       }
     }},
    {"attributes of which a part cannot be read", Off::kHolds,
     [](const Checks& check) {
       const Attributes wanted{.size = kFirstAttributesSize, .policy = SCHED_RR, .priority = 2};
       for (const auto beyond : kUnreadable) {
         const Border border(check, beyond);
         for (const std::size_t part : {std::size_t{4}, std::size_t{16}, std::size_t{47}}) {
           check.fails("the call", set_attributes(0, place_before(border, wanted, part)), EFAULT);
         }
       }
     }},
    {"attributes that end with a page", Off::kFails,
     [](const Checks& check) {
       for (const std::uint32_t size : {kFirstAttributesSize, std::uint32_t{sizeof(Attributes)}}) {
         const Attributes wanted{.size = size, .policy = SCHED_RR, .priority = 2};
         for (const auto beyond : kUnreadable) {
           const Border border(check, beyond);
           check.gives("size " + std::to_string(size),
                       set_attributes(0, place_before(border, wanted, size)), 0);
         }
       }
     }},
    // The emulator reads the first size alone.
    {"second size of which the end cannot be read", Off::kHolds,
     [](const Checks& check) {
       const Attributes wanted{.policy = SCHED_RR, .priority = 2};
       for (const auto beyond : kUnreadable) {
         const Border border(check, beyond);
         check.fails("the call",
                     set_attributes(0, place_before(border, wanted, kFirstAttributesSize)), EFAULT);
       }
     }},
    {"size of 0, which is the first", Off::kFails,
     [](const Checks& check) {
       const Attributes wanted{.size = 0, .policy = SCHED_RR, .priority = 2};
       check.gives("the call", set_attributes(0, &wanted), 0);
       check.holds("it is set", has_policy(0, SCHED_RR, 2));
     }},
    {"size below the first", Off::kHolds,
     [](const Checks& check) {
       for (const std::uint32_t size : {1U, 47U}) {
         Attributes wanted{.size = size, .policy = SCHED_RR, .priority = 2};
         check.fails("size " + std::to_string(size), set_attributes(0, &wanted), E2BIG);
         check.holds("the kernel says its own", wanted.size >= sizeof wanted);
       }
     }},
    {"size above a page", Off::kHolds,
     [](const Checks& check) {
       for (const std::uint32_t size : {kPage + 1, ~0U}) {
         Attributes wanted{.size = size, .policy = SCHED_RR, .priority = 2};
         check.fails("size " + std::to_string(size), set_attributes(0, &wanted), E2BIG);
         check.holds("the kernel says its own",
                     wanted.size >= sizeof wanted && wanted.size < kPage);
       }
     }},
    {"size beyond the kernel's, with something there", Off::kHolds,
     [](const Checks& check) {
       for (const std::uint32_t size : {64U, 100U, kPage}) {
         auto bytes = large_attributes(size, 1);
         check.fails("size " + std::to_string(size), set_attributes(0, bytes.data()), E2BIG);
       }
     }},
    // Other sizes than the kernel's two are not served.
    {"size beyond the kernel's, with nothing there", Off::kLimit,
     [](const Checks& check) {
       for (const std::uint32_t size : {52U, 64U, 100U, kPage}) {
         auto bytes = large_attributes(size, 0);
         check.gives("size " + std::to_string(size), set_attributes(0, bytes.data()), 0);
       }
     }},
};

}  // namespace

std::span<const Case> sched_memory() {
  return kCases;
}

}  // namespace sidecall::grid

# How every library and program of sidecall is built, and which may know which.

# The layers, lowest first. A library links only what stands in its own line here, so that a
# forbidden dependency is an error when CMake runs (ARCHITECTURE.md, invariant 1).
set(SIDECALL_LAYER_base "")
set(SIDECALL_LAYER_kernel base)
set(SIDECALL_LAYER_placement base)
set(SIDECALL_LAYER_emulators base kernel)
set(SIDECALL_LAYER_keeper base kernel)
set(SIDECALL_LAYER_worker base kernel placement emulators)
set(SIDECALL_LAYER_bridge base placement emulators)
set(SIDECALL_LAYER_carrier base kernel emulators bridge)
set(SIDECALL_LAYER_plugin base)
set(SIDECALL_LAYER_oci base emulators)
set(SIDECALL_LAYER_policy base kernel emulators oci)
set(SIDECALL_LAYER_agent base kernel placement emulators keeper worker bridge oci policy)
set(SIDECALL_LAYER_hook base emulators oci policy)
set(SIDECALL_LAYER_oci_runtime base oci hook)
set(SIDECALL_LAYER_cli base kernel placement emulators worker oci policy hook)

add_library(sidecall_options INTERFACE)
target_compile_options(sidecall_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wcast-qual
  -Wimplicit-fallthrough -Werror -fno-omit-frame-pointer -fstack-protector-strong
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual -Wold-style-cast>
  # clang-tidy has a check for these, which costs it a tenth of its time.
  $<$<CXX_COMPILER_ID:Clang>:-Wreserved-identifier>
  # gcc 12 sees overlaps in std::string's operator+ that are not there (GCC bug 105651).
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>)
target_compile_definitions(sidecall_options INTERFACE _GNU_SOURCE
  $<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS> $<$<CONFIG:RelWithDebInfo>:_GLIBCXX_ASSERTIONS>)
if(SIDECALL_SANITIZE)
  # Everything that is linked, generated code included, gets the sanitizer.
  add_compile_options(-fsanitize=${SIDECALL_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${SIDECALL_SANITIZE})
endif()

# sidecall_library(NAME SOURCES ... [DEPENDS layer ...] [LIBRARIES external ...])
function(sidecall_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LIBRARIES" ${ARGN})
  foreach(dependency IN LISTS ARG_DEPENDS)
    if(NOT dependency IN_LIST SIDECALL_LAYER_${name})
      message(FATAL_ERROR "runtime/${name} may not depend on runtime/${dependency}: "
        "see the layers in cmake/SidecallTargets.cmake")
    endif()
  endforeach()
  add_library(sidecall_${name} STATIC ${ARG_SOURCES})
  target_include_directories(sidecall_${name} PUBLIC ${CMAKE_SOURCE_DIR}/runtime)
  list(TRANSFORM ARG_DEPENDS PREPEND sidecall_)
  target_link_libraries(sidecall_${name}
    PUBLIC ${ARG_DEPENDS} tl::expected
    PRIVATE sidecall_options ${ARG_LIBRARIES})
endfunction()

# sidecall_program(NAME SOURCES ... LIBRARIES ...)
function(sidecall_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/runtime)
  target_link_libraries(${name} PRIVATE sidecall_options ${ARG_LIBRARIES})
endfunction()

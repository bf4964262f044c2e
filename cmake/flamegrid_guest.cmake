# An assertion in the guest would end the job; the options are those of flamegrid_options without sanitizers. The guest runs on
# the program's threads, and their stacks may be tiny.
add_library(flamegrid_guest_options INTERFACE)
target_include_directories(flamegrid_guest_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_definitions(flamegrid_guest_options INTERFACE _GNU_SOURCE NDEBUG)
target_compile_options(flamegrid_guest_options INTERFACE
  -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla
  -Wframe-larger-than=2560
  $<$<BOOL:${FLAMEGRID_WERROR}>:-Werror>
  -O2 -fno-omit-frame-pointer -fvisibility=hidden -ftls-model=initial-exec
  -fno-stack-protector -U_FORTIFY_SOURCE -fno-plt
  -include ${CMAKE_SOURCE_DIR}/inject/base/glibc_compat.h)

# flamegrid_guest_library(NAME SOURCES <file>... [LIBS <guest library>...])
# A library that the guest has, too. It is compiled twice: as NAME, with the options and sanitizers that everything else
# has; and as NAME_guest, for flamegrid_inject.
function(flamegrid_guest_library name)
  cmake_parse_arguments(GUEST "" "" "SOURCES;LIBS" ${ARGN})
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${GUEST_SOURCES})
  target_compile_options(${name} PRIVATE -ftls-model=initial-exec)
  target_link_libraries(${name} PRIVATE flamegrid_options PUBLIC ${GUEST_LIBS})
  add_library(${name}_guest STATIC EXCLUDE_FROM_ALL ${GUEST_SOURCES})
  list(TRANSFORM GUEST_LIBS APPEND _guest)
  target_link_libraries(${name}_guest PRIVATE flamegrid_guest_options PUBLIC ${GUEST_LIBS})
endfunction()

# Sources of a guest library that only the agent calls: it has threads with large stacks.
function(flamegrid_agent_side)
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS -Wno-frame-larger-than)
endfunction()

# Sources that run once or a few times in a process: small rather than fast, because the guest is to be small.
function(flamegrid_guest_small)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -Os)
endfunction()

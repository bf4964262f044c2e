# How tests are registered with ctest, and which of them a build has. What is known of single tests stands in
# tests/schedule.cmake.
include(${PROJECT_SOURCE_DIR}/tests/schedule.cmake)

# Linking 250 test programs takes a third as long with gold, where binutils still has it.
include(CheckLinkerFlag)
check_linker_flag(C -fuse-ld=gold FLAMEGRID_HAS_GOLD)

# What tests of the label "unit" need. Builds with sanitizers build this target alone.
if(FLAMEGRID_TESTS)
  add_custom_target(unit_tests)
endif()

# flamegrid_schedule(<test> LABELS <label>... [TIMEOUT <seconds>] [ENVIRONMENT <name=value>])
# Tells ctest what it must know of a test that add_test() has made. LABELS: unit or end-to-end, and root if it takes root.
# A slow test gets the label slow, too.
function(flamegrid_schedule name)
  cmake_parse_arguments(TEST "" "TIMEOUT" "LABELS;ENVIRONMENT" ${ARGN})
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 600)
  endif()
  list(FIND FLAMEGRID_SLOW_TESTS ${name} at)
  if(NOT at EQUAL -1)
    math(EXPR at "${at} + 1")
    list(GET FLAMEGRID_SLOW_TESTS ${at} seconds)
    list(APPEND TEST_LABELS slow)
    set_tests_properties(${name} PROPERTIES COST ${seconds})
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${TEST_TIMEOUT} LABELS "${TEST_LABELS}")
  if(TEST_ENVIRONMENT)
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "${TEST_ENVIRONMENT}")
  endif()
  if(name IN_LIST FLAMEGRID_LONE_TESTS)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()

# flamegrid_test(NAME <n> SOURCES <file>... [LIBS <target>...] [ARGS <arg>...] [LABELS <label>...])
# One cmocka program that is built and registered with ctest under its name: a compiled test is a registered test.
# Targets that ARGS names by $<TARGET_FILE:...> are built before it.
function(flamegrid_test)
  cmake_parse_arguments(TEST "" "NAME" "SOURCES;LIBS;ARGS;LABELS" ${ARGN})
  add_executable(${TEST_NAME} ${TEST_SOURCES})
  set_target_properties(${TEST_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(${TEST_NAME} PRIVATE flamegrid_options ${TEST_LIBS} PkgConfig::CMOCKA Threads::Threads)
  if(FLAMEGRID_HAS_GOLD)
    target_link_options(${TEST_NAME} PRIVATE -fuse-ld=gold)
  endif()
  # ThreadSanitizer has nothing to find where no two threads share memory.
  if(FLAMEGRID_SANITIZE MATCHES "thread" AND NOT TEST_NAME IN_LIST FLAMEGRID_THREADED_TESTS)
    set_target_properties(${TEST_NAME} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  if(NOT TEST_LABELS)
    set(TEST_LABELS unit)
  endif()
  add_test(NAME ${TEST_NAME} COMMAND ${TEST_NAME} ${TEST_ARGS})
  flamegrid_schedule(${TEST_NAME} LABELS ${TEST_LABELS})
  string(REGEX MATCHALL "TARGET_FILE:[^>]+" needed "${TEST_ARGS}")
  list(TRANSFORM needed REPLACE "TARGET_FILE:" "")
  if(needed)
    add_dependencies(${TEST_NAME} ${needed})
  endif()
  if("unit" IN_LIST TEST_LABELS)
    add_dependencies(unit_tests ${TEST_NAME})
  endif()
endfunction()

# flamegrid_fixture(<name> SOURCES <file>... [LIBS <target>...])
# What several tests start with. It is compiled once for all of them.
function(flamegrid_fixture name)
  cmake_parse_arguments(FIXTURE "" "" "SOURCES;LIBS" ${ARGN})
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${FIXTURE_SOURCES})
  target_link_libraries(${name} PRIVATE flamegrid_options PUBLIC ${FIXTURE_LIBS} PkgConfig::CMOCKA)
endfunction()

# flamegrid_script(<script> <label>...): <script>.sh, a shell script of whole programs. BUILD is the build folder in it. The test
# has the script's name, without its folder.
function(flamegrid_script script)
  get_filename_component(name ${script} NAME)
  add_test(NAME ${name} COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/${script}.sh)
  flamegrid_schedule(${name} LABELS ${ARGN} TIMEOUT 600 ENVIRONMENT BUILD=${CMAKE_BINARY_DIR})
endfunction()

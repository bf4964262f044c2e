# flamegrid::flamegrid: the header flamegrid.h, which needs no library of Flamegrid's.
get_filename_component(flamegrid_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET flamegrid::flamegrid)
  add_library(flamegrid::flamegrid INTERFACE IMPORTED)
  set_target_properties(flamegrid::flamegrid PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${flamegrid_prefix}/include"
    INTERFACE_LINK_LIBRARIES "${CMAKE_DL_LIBS}")
endif()
unset(flamegrid_prefix)

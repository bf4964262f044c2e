/* A part of `timeline`: makes a time of a profile a profile of its own. */
#ifndef TIMELINE_MAKE_PROFILE_H
#define TIMELINE_MAKE_PROFILE_H

#include "timeline/slice/profile_slice.h"

/* output_path: the directory of the new profile. Says what it has, or why there is none. Returns the exit status. */
int timeline_make_profile(const struct profile_slice *slice, const char *output_path);

#endif

/* Reads the events of strips by several threads, each those of other devices. Part of time_strips; used by one thread.
 */
#ifndef STRIP_CREW_H
#define STRIP_CREW_H

#include "strip_maker.h"

/* As strip_maker_read(), by one thread if there are few devices, or if several threads would not find the same. */
int strip_crew_read(struct strip_maker *maker);

#endif

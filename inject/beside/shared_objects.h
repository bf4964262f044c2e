/* The objects of the process that import CUPTI's functions: those calls that concern the guest, too, go to slot
 * functions of shared_subscriber.h and shared_session.h. CUDA's own objects are left out, as are those that do not name
 * libcupti as needed (they would have to ask dlsym(), and nobody sees what that answers). */
#ifndef SHARED_OBJECTS_H
#define SHARED_OBJECTS_H

#define SHARED_OBJECTS_ENV "FLAMEGRID_SHARE" /* "off": other objects are left alone */

struct cupti_library;
struct definition_writer;

/* Looks through all objects, once the guest has a subscription. *library is borrowed for good. Any thread. */
void shared_objects_begin(const struct cupti_library *library);

/* Looks through objects that were loaded since; says in notices who shares, and whose slots could not be set. Nothing
 * before shared_objects_begin(). Any thread but one inside a callback of CUPTI's. */
void shared_objects_look(struct definition_writer *notices);

#endif

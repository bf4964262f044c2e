/* Finds the objects of the process that import CUPTI's functions. Their calls that also concern the guest are sent to
 * slot functions of shared_subscriber.h and shared_session.h. Two kinds of objects are left out: CUDA's own, and those
 * that do not name libcupti as needed. The latter would have to ask dlsym(), and the guest does not see its answers. */
#ifndef SHARED_OBJECTS_H
#define SHARED_OBJECTS_H

#define SHARED_OBJECTS_ENV "FLAMEGRID_SHARE" /* "off": other objects are left alone */

struct cupti_library;
struct definition_writer;

/* Looks through all objects. Call it once the guest has a subscription. *library is borrowed for good. Any thread may
 * call. */
void shared_objects_begin(const struct cupti_library *library);

/* Looks through the objects that were loaded since the last look. Writes a notice about an object that shares CUPTI,
 * and about one whose slots could not be set. Does nothing before shared_objects_begin(). Any thread may call, but not
 * inside one of CUPTI's callbacks. */
void shared_objects_look(struct definition_writer *notices);

#endif

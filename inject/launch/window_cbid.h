/* Lists the driver calls that decide when a capture window may end, besides launches. Constant. */
#ifndef WINDOW_CBID_H
#define WINDOW_CBID_H

#include <stdint.h>

enum window_role {
	WINDOW_ROLE_NONE = 0,      /* another call */
	WINDOW_ROLE_WAIT_CONTEXT,  /* waits for all of the context */
	WINDOW_ROLE_WAIT_STREAM,   /* waits for the stream that is its first parameter */
	WINDOW_ROLE_WAIT_STREAM_T, /* the same, but NULL means the thread's own default stream */
	WINDOW_ROLE_WAIT,          /* waits for some work */
	WINDOW_ROLE_BLOCKER,       /* may make a stream, its first parameter, wait for the host */
	WINDOW_ROLE_BLOCKER_T,
	WINDOW_ROLE_PROFILER_START,
	WINDOW_ROLE_PROFILER_STOP,
};

#define WINDOW_CBIDS 801u

/* enum window_role, by CUpti_driver_api_trace_cbid */
extern const uint8_t window_cbid_roles[WINDOW_CBIDS];

static inline enum window_role window_cbid_role(uint32_t cbid)
{
	return cbid < WINDOW_CBIDS ? (enum window_role)window_cbid_roles[cbid] : WINDOW_ROLE_NONE;
}

#endif

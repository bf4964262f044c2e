#include "idle_context.h"

#include <dlfcn.h>
#include <string.h>

#include "inject/launch/launch_thread.h"
#include "proto/record.h"

#define WITHOUT_TIME 2u  /* CU_EVENT_DISABLE_TIMING */
#define NOT_READY    600 /* CUresult */

static struct {
	int (*create)(void **event, unsigned int flags); /* each returns a CUresult */
	int (*record)(void *context, void *event);
	int (*query)(void *event);
	struct {
		_Atomic(void *) context; /* NULL: none */
		void *event;             /* which goes with its context */
	} marks[RECORD_DEVICES_MAX];
} self;

void idle_context_init(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);

	memset(&self, 0, sizeof(self));
	if (!library)
		return;
	*(void **)&self.create = dlsym(library, "cuEventCreate");
	*(void **)&self.query = dlsym(library, "cuEventQuery");
	if (self.create && self.query)
		*(void **)&self.record = dlsym(library, "cuCtxRecordEvent");
}

static bool mark(uint32_t device_id, void *context)
{
	if (self.marks[device_id].context != context) {
		self.marks[device_id].context = NULL;
		if (self.create(&self.marks[device_id].event, WITHOUT_TIME) != 0)
			return false;
		self.marks[device_id].context = context;
	}
	return self.record(context, self.marks[device_id].event) == 0;
}

bool idle_context_mark(uint32_t device_id, void *context)
{
	struct launch_thread *thread = launch_thread_tls;

	if (!self.record)
		return false;
	launch_thread_ignore();
	bool is_marked = mark(device_id, context);
	launch_thread_tls = thread;
	if (!is_marked) {
		self.marks[device_id].context = NULL;
		self.record = NULL;
	}
	return is_marked;
}

void idle_context_forget(const void *context)
{
	for (uint32_t i = 0; i < RECORD_DEVICES_MAX; i++)
		if (self.marks[i].context == context)
			self.marks[i].context = NULL;
}

enum idle_context_state idle_context_state(uint32_t device_id)
{
	struct launch_thread *thread = launch_thread_tls;

	if (!self.marks[device_id].context)
		return IDLE_CONTEXT_UNKNOWN;
	launch_thread_ignore();
	int result = self.query(self.marks[device_id].event);
	launch_thread_tls = thread;
	return result == 0           ? IDLE_CONTEXT_ENDED
	       : result == NOT_READY ? IDLE_CONTEXT_WORKS
				     : IDLE_CONTEXT_UNKNOWN;
}

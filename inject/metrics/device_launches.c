#include "device_launches.h"

#include <stdatomic.h>

#include "inject/launch/launch_thread.h"
#include "proto/record.h"

static struct {
	_Atomic uint64_t nr_launches[RECORD_DEVICES_MAX];
	_Atomic uint32_t nr_inside[RECORD_DEVICES_MAX];
} self;

void device_launches_init(void)
{
	for (uint32_t i = 0; i < RECORD_DEVICES_MAX; i++)
		atomic_store(&self.nr_inside[i], 0);
}

void device_launches_enter(struct launch_thread *thread, uint32_t device_id)
{
	device_launches_exit(thread);
	thread->measured_device = device_id + 1;
	atomic_fetch_add(&self.nr_inside[device_id], 1);
	atomic_fetch_add(&self.nr_launches[device_id], 1);
}

void device_launches_exit(struct launch_thread *thread)
{
	if (thread->measured_device)
		atomic_fetch_sub(&self.nr_inside[thread->measured_device - 1], 1);
	thread->measured_device = 0;
}

uint64_t device_launches_count(uint32_t device_id)
{
	return atomic_load(&self.nr_launches[device_id]);
}

uint32_t device_launches_inside(uint32_t device_id)
{
	return atomic_load(&self.nr_inside[device_id]);
}

struct device_launches_mark device_launches_mark(uint32_t device_id)
{
	return (struct device_launches_mark){
		.nr_launches = device_launches_count(device_id),
		.device_id = device_id,
		.is_shared = device_launches_inside(device_id) != 1,
	};
}

bool device_launches_were_shared(const struct device_launches_mark *mark, uint64_t nr_own)
{
	return mark->is_shared ||
	       device_launches_count(mark->device_id) != mark->nr_launches + nr_own;
}

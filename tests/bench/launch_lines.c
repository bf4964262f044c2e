/* Makes launches whose memory accesses launch_lines.py looks at: enter and exit, each between two stores to marker
 * variables. Prints nothing; asserts nothing. */
#include <stdint.h>
#include <unistd.h>

#include "inject/base/definition_writer.h"
#include "inject/base/lifecycle.h"
#include "inject/callback_dispatch.h"
#include "inject/cupti/cupti_library.h"
#include "inject/launch/launch_cbid.h"
#include "inject/launch/launch_meter.h"
#include "inject/launch/launch_thread.h"
#include "inject/module_watch.h"
#include "proto/ring/record_ring.h"
#include "unwind/unwind_table.h"

#define LAUNCHES 80u /* the 32nd is the first that is metered */
#define LEVELS   20u

volatile uint64_t launch_lines_begin, launch_lines_end;

static void receive(const struct cupti_callback_data *data, uint32_t number)
{
	launch_lines_begin = number;
	callback_dispatch_receive(NULL, CUPTI_ABI_DOMAIN_DRIVER, LAUNCH_CBID_KERNEL, data);
	launch_lines_end = number;
}

static __attribute__((noinline)) void launch(uint32_t levels, uint32_t number)
{
	const int result = 0;
	struct cupti_callback_data data = {.correlation_id = number, .return_value = &result};

	if (levels) {
		launch(levels - 1, number);
	} else {
		receive(&data, number);
		data.site = CUPTI_ABI_API_EXIT;
		receive(&data, number);
	}
	__asm__ volatile("" ::: "memory");
}

int main(void)
{
	static struct cupti_library library;
	static struct definition_writer writer;
	struct callback_dispatch_parts parts = {.library = &library};
	struct stack_capture *capture = &parts.launch.capture;
	struct record_ring *ring;
	int fd;

	launch_meter_init(LAUNCH_METER_PERIOD);
	if (record_ring_create(&RECORD_RING_SIZES_DEFAULT, &ring, &fd) < 0 ||
	    launch_thread_init(LAUNCH_THREADS_KEPT) < 0)
		return 1;
	close(fd);
	*capture = (struct stack_capture){.ring = ring,
					  .stacks = stack_table_create(ring),
					  .tables = unwind_tables_create(UNWIND_BYTES_MAX),
					  .python = python_frames_create(ring),
					  .options = STACK_OPTIONS_DEFAULT};
	parts.launch.ring = ring;
	parts.launch.window = 1;
	writer = DEFINITION_WRITER_INIT(ring);
	struct module_watch *modules = module_watch_create(&writer, capture->tables);
	if (!capture->stacks || !capture->tables || !capture->python || !modules)
		return 1;
	module_watch_poll(modules, false);
	unwind_tables_build(capture->tables, UNWIND_BUILD_ALL);
	callback_dispatch_init(&parts);
	atomic_store(&lifecycle_word, LIFECYCLE_ON);
	for (volatile uint32_t i = 1; i <= LAUNCHES; i++)
		launch(LEVELS, i);
	return 0;
}

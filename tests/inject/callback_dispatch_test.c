/* Where CUPTI's callbacks go, against a CUPTI that enables whatever it is asked for. */
#include "inject/callback_dispatch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inject/base/lifecycle.h"
#include "inject/base/stack_table.h"
#include "inject/beside/shared_subscriber.h"
#include "inject/cupti/context_devices.h"
#include "inject/cupti/cupti_library.h"
#include "inject/launch/launch_thread.h"
#include "inject/launch/window_word.h"
#include "inject/sampling/cubin_copies.h"
#include "inject/sampling/kernel_sampler.h"
#include "proto/options/record_options.h"
#include "test_ring.h"

#define LAUNCH 307u /* cuLaunchKernel */

static uint32_t nr_init, nr_contexts, nr_failures;

/* What the sampler of kernels hears, as letters: a context is created, met, destroyed; a cubin is taken. */
static char heard[32];
static bool needs_code;

static void hear(char letter)
{
	assert_true(strlen(heard) + 1 < sizeof(heard));
	heard[strlen(heard)] = letter;
}

void __wrap_kernel_sampler_context(void *context, uint32_t device_id);
void __wrap_kernel_sampler_meet(void *context);
void __wrap_kernel_sampler_forget(void *context);
bool __wrap_kernel_sampler_needs_code(void);
void __wrap_cubin_copies_take(struct record_ring *ring, const void *cubin, size_t size);

void __wrap_kernel_sampler_context(void *context, uint32_t device_id)
{
	assert_int_equal(device_id, *(const uint32_t *)context + 1);
	hear('c');
}

void __wrap_kernel_sampler_meet(void *context)
{
	assert_non_null(context);
	hear('m');
}

void __wrap_kernel_sampler_forget(void *context)
{
	assert_int_equal(*(const uint32_t *)context, 3);
	hear('d');
}

bool __wrap_kernel_sampler_needs_code(void)
{
	return needs_code;
}

void __wrap_cubin_copies_take(struct record_ring *ring, const void *cubin, size_t size)
{
	assert_non_null(ring);
	assert_memory_equal(cubin, "cubin", size);
	hear('t');
}

static int fake_enable(uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid)
{
	(void)enable, (void)subscriber, (void)domain, (void)cbid;
	return CUPTI_ABI_SUCCESS;
}

static int fake_context_id(void *context, uint32_t *context_id)
{
	*context_id = *(const uint32_t *)context;
	return CUPTI_ABI_SUCCESS;
}

static int fake_device_id(void *context, uint32_t *device_id)
{
	*device_id = *(const uint32_t *)context + 1;
	return CUPTI_ABI_SUCCESS;
}

static const struct cupti_library library = {
	.enable_callback = fake_enable,
	.get_context_id = fake_context_id,
	.get_device_id = fake_device_id,
};

static void note_init(void)
{
	nr_init++;
}

static void note_context(void)
{
	nr_contexts++;
}

static void note_failure(void)
{
	nr_failures++;
}

static const struct callback_dispatch_events events = {note_init, note_context, note_failure};

struct fixture {
	struct test_ring ring;
	struct stack_table *stacks;
	struct callback_dispatch_parts parts;
};

static void no_end(void)
{
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	static int started;

	if (!started++) {
		assert_int_equal(lifecycle_start(no_end), 0);
		assert_int_equal(launch_thread_init(LAUNCH_THREADS_KEPT), 0);
	}
	test_ring_init(&fixture->ring);
	fixture->stacks = stack_table_create(fixture->ring.guest);
	fixture->parts = (struct callback_dispatch_parts){
		.library = &library,
		.events = &events,
		.launch = {.ring = fixture->ring.guest,
			   .capture = {.ring = fixture->ring.guest,
				       .stacks = fixture->stacks,
				       .options = {.mode = STACK_MODE_NONE}}},
	};
	callback_dispatch_init(&fixture->parts);
	atomic_store(&window_word, 0);
	shared_subscriber_held(&library, fixture);
	nr_init = nr_contexts = nr_failures = 0;
	memset(heard, 0, sizeof(heard));
	needs_code = true;
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	stack_table_destroy(fixture->stacks);
	test_ring_fini(&fixture->ring);
	free(fixture);
	return 0;
}

static void resource(uint32_t cbid)
{
	uint32_t context = 3;
	const struct cupti_resource_data data = {.context = &context};

	callback_dispatch_receive(NULL, CUPTI_ABI_DOMAIN_RESOURCE, cbid, &data);
}

static void enable(uint32_t domain, uint32_t cbid)
{
	assert_int_equal(shared_subscriber_enable(1, domain, cbid), CUPTI_ABI_SUCCESS);
}

static void events_reach_their_receivers(void **state)
{
	(void)state;
	enable(CUPTI_ABI_DOMAIN_RESOURCE, CUPTI_ABI_RESOURCE_INIT_FINISHED);
	enable(CUPTI_ABI_DOMAIN_RESOURCE, CUPTI_ABI_RESOURCE_CONTEXT_CREATED);
	enable(CUPTI_ABI_DOMAIN_STATE, CUPTI_ABI_STATE_FATAL_ERROR);
	resource(CUPTI_ABI_RESOURCE_INIT_FINISHED);
	resource(CUPTI_ABI_RESOURCE_CONTEXT_CREATED);
	resource(CUPTI_ABI_RESOURCE_CONTEXT_CREATED);
	resource(99);
	callback_dispatch_receive(NULL, CUPTI_ABI_DOMAIN_STATE, CUPTI_ABI_STATE_FATAL_ERROR, NULL);
	assert_int_equal(nr_init, 1);
	assert_int_equal(nr_contexts, 2);
	assert_int_equal(nr_failures, 1);
}

static void what_another_subscriber_enabled_reaches_no_receiver_of_the_guest(void **state)
{
	(void)state;
	resource(CUPTI_ABI_RESOURCE_INIT_FINISHED);
	resource(CUPTI_ABI_RESOURCE_CONTEXT_CREATED);
	callback_dispatch_receive(NULL, CUPTI_ABI_DOMAIN_STATE, CUPTI_ABI_STATE_FATAL_ERROR, NULL);
	assert_int_equal(nr_init + nr_contexts + nr_failures, 0);
}

static void a_new_context_is_known_by_its_device_where_that_is_wanted(void **state)
{
	struct fixture *fixture = *state;

	context_devices_clear();
	enable(CUPTI_ABI_DOMAIN_RESOURCE, CUPTI_ABI_RESOURCE_CONTEXT_CREATED);
	resource(CUPTI_ABI_RESOURCE_CONTEXT_CREATED);
	assert_int_equal(context_devices_get(3), RECORD_DEVICE_NONE);
	fixture->parts.record = RECORD_OPTION_SYNC;
	callback_dispatch_init(&fixture->parts);
	resource(CUPTI_ABI_RESOURCE_CONTEXT_CREATED);
	assert_int_equal(context_devices_get(3), 4);
	assert_int_equal(context_devices_get(4), RECORD_DEVICE_NONE);
}

static void load(const struct cupti_module_data *module)
{
	const struct cupti_resource_data data = {.descriptor = module};

	callback_dispatch_receive(NULL, CUPTI_ABI_DOMAIN_RESOURCE, CUPTI_ABI_RESOURCE_MODULE_LOADED,
				  &data);
}

static void launch(void *context, uint32_t correlation_id)
{
	int result = 0;
	struct cupti_callback_data data = {.site = CUPTI_ABI_API_ENTER,
					   .context = context,
					   .correlation_id = correlation_id,
					   .return_value = &result};

	callback_dispatch_receive(NULL, CUPTI_ABI_DOMAIN_DRIVER, LAUNCH, &data);
	data.site = CUPTI_ABI_API_EXIT;
	callback_dispatch_receive(NULL, CUPTI_ABI_DOMAIN_DRIVER, LAUNCH, &data);
}

static void the_sampler_hears_of_contexts_and_code(void **state)
{
	const struct cupti_module_data module = {.cubin = "cubin", .cubin_size = 5}, none = {0};
	struct fixture *fixture = *state;
	enable(CUPTI_ABI_DOMAIN_RESOURCE, CUPTI_ABI_RESOURCE_CONTEXT_CREATED);
	enable(CUPTI_ABI_DOMAIN_RESOURCE, CUPTI_ABI_RESOURCE_CONTEXT_DESTROYED);
	enable(CUPTI_ABI_DOMAIN_RESOURCE, CUPTI_ABI_RESOURCE_MODULE_LOADED);
	resource(CUPTI_ABI_RESOURCE_CONTEXT_CREATED);
	assert_string_equal(heard, ""); /* nobody wants samples */
	fixture->parts.record = RECORD_OPTION_STALLS;
	callback_dispatch_init(&fixture->parts);
	resource(CUPTI_ABI_RESOURCE_CONTEXT_CREATED);
	load(&module);
	load(&none);
	load(NULL);
	needs_code = false;
	load(&module);
	resource(CUPTI_ABI_RESOURCE_CONTEXT_DESTROYED);
	assert_string_equal(heard, "ctd");
}

static void launches_have_the_window_in_which_they_were_made(void **state)
{
	struct fixture *fixture = *state;
	struct launch_record records[4];
	uint32_t context = 3;

	fixture->parts.record = RECORD_OPTION_STALLS;
	callback_dispatch_init(&fixture->parts);
	callback_dispatch_set_window(2);
	launch(&context, 10);
	atomic_store(&window_word, WINDOW_WORD_LISTEN);
	launch(&context, 11); /* between two windows */
	atomic_store(&window_word, 0);
	callback_dispatch_set_window(3);
	launch(NULL, 12);
	lifecycle_off();
	launch(&context, 13); /* at the process's end */
	assert_int_equal(test_ring_launches(&fixture->ring, 0, records, 4), 2);
	assert_int_equal(records[0].correlation_id, 10);
	assert_int_equal(records[0].window, 2);
	assert_int_equal(records[1].correlation_id, 12);
	assert_int_equal(records[1].window, 3);
	/* the sampler of kernels hears of a launch that has a context */
	assert_string_equal(heard, "m");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(events_reach_their_receivers),
		TEST(what_another_subscriber_enabled_reaches_no_receiver_of_the_guest),
		TEST(a_new_context_is_known_by_its_device_where_that_is_wanted),
		TEST(the_sampler_hears_of_contexts_and_code),
		TEST(launches_have_the_window_in_which_they_were_made), /* switches the guest off */
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

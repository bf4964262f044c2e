/* The second subscriber's slot functions against a CUPTI that answers as a test wants. */
#include "inject/beside/shared_subscriber.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inject/cupti/cupti_library.h"
#include "inject/base/lifecycle.h"

#define NR_CBIDS 25u /* of the resource domain */

static struct {
	int subscribe;
	uint32_t nr_subscribed, nr_unsubscribed, nr_finalized, nr_domains;
	bool on[8][64]; /* domain, cbid */
	char handle;
} fake;

static int fake_subscribe(void **subscriber, cupti_callback_fn *callback, void *user)
{
	(void)callback, (void)user;
	fake.nr_subscribed++;
	if (subscriber)
		*subscriber = fake.subscribe ? NULL : &fake.handle;
	return fake.subscribe;
}

static int fake_subscribe_v2(void **subscriber, cupti_callback_fn *callback, void *user,
			     struct cupti_subscriber_params *params)
{
	(void)params;
	return fake_subscribe(subscriber, callback, user);
}

static int fake_unsubscribe(void *subscriber)
{
	assert_ptr_equal(subscriber, &fake.handle);
	fake.nr_unsubscribed++;
	return 0;
}

static int fake_enable(uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid)
{
	assert_ptr_equal(subscriber, &fake.handle);
	if (cbid == 0 || cbid >= NR_CBIDS)
		return CUPTI_ABI_INVALID_PARAMETER;
	fake.on[domain][cbid] = enable;
	return 0;
}

static int fake_domain(uint32_t enable, void *subscriber, uint32_t domain)
{
	(void)enable, (void)domain;
	assert_ptr_equal(subscriber, &fake.handle);
	fake.nr_domains++;
	return 0;
}

static int fake_all_domains(uint32_t enable, void *subscriber)
{
	return fake_domain(enable, subscriber, 0);
}

static int fake_finalize(void)
{
	fake.nr_finalized++;
	return 0;
}

static struct cupti_library library = {
	.version = CUPTI_ABI_VERSION_13_0,
	.subscribe = fake_subscribe,
	.subscribe_v2 = fake_subscribe_v2,
	.unsubscribe = fake_unsubscribe,
	.enable_callback = fake_enable,
	.enable_domain = fake_domain,
	.enable_all_domains = fake_all_domains,
	.finalize = fake_finalize,
};

/* What an imported function's slot holds. */
static struct {
	int (*subscribe)(void **subscriber, cupti_callback_fn *callback, void *user);
	int (*subscribe_v2)(void **subscriber, cupti_callback_fn *callback, void *user,
			    struct cupti_subscriber_params *params);
	int (*unsubscribe)(void *subscriber);
	int (*enable)(uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid);
	int (*domain)(uint32_t enable, void *subscriber, uint32_t domain);
	int (*all_domains)(uint32_t enable, void *subscriber);
	int (*finalize)(void);
} slot;

static struct {
	uint32_t nr, last_domain, last_cbid;
	const void *last_data;
	void *unsubscribe; /* from within the next */
} heard;

/* What the guest was told of another that ends CUPTI. */
static struct {
	bool locks, ended;
	uint32_t nr_finalized_before, nr_fetched, nr_yielded;
} guest;

static void hear(void *user, uint32_t domain, uint32_t cbid, const void *data)
{
	assert_ptr_equal(user, &heard);
	heard.nr++;
	heard.last_domain = domain;
	heard.last_cbid = cbid;
	heard.last_data = data;
	if (heard.unsubscribe)
		assert_int_equal(slot.unsubscribe(heard.unsubscribe), CUPTI_ABI_SUCCESS);
	heard.unsubscribe = NULL;
}

static void no_end(void)
{
}

static bool note_yield(void)
{
	guest.nr_finalized_before = fake.nr_finalized;
	return guest.locks;
}

static void note_fetch(void)
{
	guest.nr_fetched++;
	assert_int_equal(guest.nr_finalized_before, fake.nr_finalized);
}

static void note_yielded(bool locked, bool ended)
{
	assert_int_equal(locked, guest.locks);
	guest.nr_yielded++;
	guest.ended = ended;
}

static int set_up(void **state)
{
	const struct shared_subscriber_parts parts = {
		.yield = note_yield, .fetch = note_fetch, .yielded = note_yielded};
	struct import_slot slots[SHARED_SUBSCRIBER_SLOTS];
	static int started;

	(void)state;
	if (!started++)
		assert_int_equal(lifecycle_start(no_end), 0);
	memset(&fake, 0, sizeof(fake));
	memset(&heard, 0, sizeof(heard));
	library.version = CUPTI_ABI_VERSION_13_0;
	fake.subscribe = CUPTI_ABI_SUBSCRIBER_TAKEN;
	memset(&guest, 0, sizeof(guest));
	shared_subscriber_init(&parts);
	shared_subscriber_held(&library, &fake.handle);
	shared_subscriber_slots(&library, slots);
	*(void **)&slot.subscribe = slots[0].to;
	*(void **)&slot.subscribe_v2 = slots[1].to;
	*(void **)&slot.unsubscribe = slots[2].to;
	*(void **)&slot.enable = slots[3].to;
	*(void **)&slot.domain = slots[4].to;
	*(void **)&slot.all_domains = slots[5].to;
	*(void **)&slot.finalize = slots[6].to;
	return 0;
}

static void *share(void)
{
	void *second = NULL;

	assert_int_equal(slot.subscribe(&second, hear, &heard), CUPTI_ABI_SUCCESS);
	assert_non_null(second);
	assert_true(shared_subscriber_is_there());
	return second;
}

static void second_subscriber_hears_of_what_it_enabled_and_nothing_else(void **state)
{
	void *second = share();
	int data;

	(void)state;
	assert_int_equal(fake.nr_subscribed, 1); /* CUPTI was asked first */
	assert_true(shared_subscriber_caller() != 0);
	assert_int_equal(slot.enable(1, second, CUPTI_ABI_DOMAIN_RESOURCE, 2), 0);
	assert_int_equal(slot.enable(1, second, CUPTI_ABI_DOMAIN_STATE, 1), 0);
	assert_true(fake.on[CUPTI_ABI_DOMAIN_RESOURCE][2]);
	shared_subscriber_forward(CUPTI_ABI_DOMAIN_RESOURCE, 1, &data);
	shared_subscriber_forward(CUPTI_ABI_DOMAIN_DRIVER, 2, &data);
	assert_int_equal(heard.nr, 0);
	shared_subscriber_forward(CUPTI_ABI_DOMAIN_STATE, 1, &data);
	shared_subscriber_forward(CUPTI_ABI_DOMAIN_RESOURCE, 2, &data);
	assert_int_equal(heard.nr, 2);
	assert_int_equal(heard.last_domain, CUPTI_ABI_DOMAIN_RESOURCE);
	assert_int_equal(heard.last_cbid, 2);
	assert_ptr_equal(heard.last_data, &data);
	assert_int_equal(slot.unsubscribe(second), 0);
	assert_false(fake.on[CUPTI_ABI_DOMAIN_RESOURCE][2]);
	shared_subscriber_forward(CUPTI_ABI_DOMAIN_RESOURCE, 2, &data);
	assert_int_equal(heard.nr, 2);
	assert_false(shared_subscriber_is_there());
	assert_int_equal(fake.nr_unsubscribed, 0);
}

static void callback_is_on_while_either_wants_it(void **state)
{
	void *second = share();
	const uint32_t resource = CUPTI_ABI_DOMAIN_RESOURCE;

	(void)state;
	assert_int_equal(shared_subscriber_enable(1, resource, 1), 0);
	assert_int_equal(slot.enable(1, second, resource, 1), 0);
	assert_true(shared_subscriber_is_ours(resource, 1));
	assert_int_equal(slot.enable(0, second, resource, 1), 0);
	assert_true(fake.on[resource][1]);
	assert_int_equal(slot.enable(1, second, resource, 1), 0);
	assert_int_equal(shared_subscriber_enable(0, resource, 1), 0);
	assert_true(fake.on[resource][1]);
	assert_false(shared_subscriber_is_ours(resource, 1));
	assert_int_equal(slot.all_domains(0, second), 0);
	assert_false(fake.on[resource][1]);
	assert_int_equal(shared_subscriber_enable(1, resource, NR_CBIDS),
			 CUPTI_ABI_INVALID_PARAMETER);
	assert_false(shared_subscriber_is_ours(resource, NR_CBIDS));
	assert_int_equal(slot.unsubscribe(second), 0);
}

static void domain_is_enabled_as_far_as_cupti_has_it(void **state)
{
	void *second = share();

	(void)state;
	assert_int_equal(slot.domain(1, second, CUPTI_ABI_DOMAIN_RESOURCE), 0);
	for (uint32_t cbid = 1; cbid < NR_CBIDS; cbid++)
		assert_true(fake.on[CUPTI_ABI_DOMAIN_RESOURCE][cbid]);
	shared_subscriber_forward(CUPTI_ABI_DOMAIN_RESOURCE, NR_CBIDS, NULL);
	assert_int_equal(heard.nr, 0);
	assert_int_equal(slot.domain(0, second, CUPTI_ABI_DOMAIN_RESOURCE), 0);
	assert_false(fake.on[CUPTI_ABI_DOMAIN_RESOURCE][NR_CBIDS - 1]);
	assert_int_equal(slot.unsubscribe(second), 0);
}

static void calls_of_the_driver_and_the_runtime_are_not_shared(void **state)
{
	void *second = share();

	(void)state;
	assert_int_equal(slot.enable(1, second, CUPTI_ABI_DOMAIN_DRIVER, 1),
			 CUPTI_ABI_NOT_SUPPORTED);
	assert_int_equal(slot.enable(0, second, CUPTI_ABI_DOMAIN_DRIVER, 1), 0);
	assert_int_equal(slot.domain(1, second, CUPTI_ABI_DOMAIN_RUNTIME), CUPTI_ABI_NOT_SUPPORTED);
	assert_int_equal(slot.all_domains(1, second), CUPTI_ABI_NOT_SUPPORTED);
	assert_int_equal(slot.enable(1, second, CUPTI_ABI_DOMAIN_RESOURCE, 64),
			 CUPTI_ABI_INVALID_PARAMETER);
	assert_int_equal(slot.enable(1, second, CUPTI_ABI_DOMAIN_RESOURCE, UINT32_MAX),
			 CUPTI_ABI_INVALID_PARAMETER);
	assert_int_equal(slot.unsubscribe(second), 0);
}

static void there_is_one_second_subscriber_at_a_time(void **state)
{
	void *second = share(), *third = NULL;

	(void)state;
	assert_int_equal(slot.subscribe(&third, hear, &heard), CUPTI_ABI_SUBSCRIBER_TAKEN);
	assert_int_equal(slot.unsubscribe(second), 0);
	third = share();
	assert_ptr_not_equal(third, second);
	/* What was given back is worth nothing. */
	assert_int_equal(slot.unsubscribe(second), CUPTI_ABI_INVALID_PARAMETER);
	assert_int_equal(slot.enable(1, second, CUPTI_ABI_DOMAIN_RESOURCE, 1),
			 CUPTI_ABI_INVALID_PARAMETER);
	assert_int_equal(slot.domain(1, second, CUPTI_ABI_DOMAIN_RESOURCE),
			 CUPTI_ABI_INVALID_PARAMETER);
	assert_int_equal(slot.all_domains(0, second), CUPTI_ABI_INVALID_PARAMETER);
	assert_int_equal(slot.unsubscribe(third), 0);
}

static void subscription_may_be_given_back_from_within_its_callback(void **state)
{
	void *second = share();

	(void)state;
	assert_int_equal(slot.enable(1, second, CUPTI_ABI_DOMAIN_RESOURCE, 2), 0);
	heard.unsubscribe = second;
	shared_subscriber_forward(CUPTI_ABI_DOMAIN_RESOURCE, 2, NULL);
	shared_subscriber_forward(CUPTI_ABI_DOMAIN_RESOURCE, 2, NULL);
	assert_int_equal(heard.nr, 1);
	assert_false(shared_subscriber_is_there());
}

static void where_another_holds_cupti_its_refusal_stands(void **state)
{
	void *second = NULL;

	(void)state;
	shared_subscriber_lost();
	assert_int_equal(slot.subscribe(&second, hear, &heard), CUPTI_ABI_SUBSCRIBER_TAKEN);
	assert_null(second);
	fake.subscribe = CUPTI_ABI_NOT_INITIALIZED;
	shared_subscriber_held(&library, &fake.handle);
	assert_int_equal(slot.subscribe(&second, hear, &heard), CUPTI_ABI_NOT_INITIALIZED);
	fake.subscribe = CUPTI_ABI_SUBSCRIBER_TAKEN;
	assert_int_equal(slot.subscribe(NULL, hear, &heard), CUPTI_ABI_SUBSCRIBER_TAKEN);
}

static void calls_with_handles_of_cupti_reach_it(void **state)
{
	void *handle = NULL;

	(void)state;
	shared_subscriber_lost();
	fake.subscribe = CUPTI_ABI_SUCCESS;
	assert_int_equal(slot.subscribe(&handle, hear, &heard), 0);
	assert_ptr_equal(handle, &fake.handle);
	assert_int_equal(slot.enable(1, handle, CUPTI_ABI_DOMAIN_DRIVER, 5), 0);
	assert_true(fake.on[CUPTI_ABI_DOMAIN_DRIVER][5]);
	assert_int_equal(slot.domain(1, handle, CUPTI_ABI_DOMAIN_DRIVER), 0);
	assert_int_equal(slot.all_domains(1, handle), 0);
	assert_int_equal(fake.nr_domains, 2);
	assert_int_equal(slot.unsubscribe(handle), 0);
	assert_int_equal(fake.nr_unsubscribed, 1);
	assert_int_equal(slot.finalize(), 0);
	assert_int_equal(fake.nr_finalized, 1);
}

static void guest_gives_way_to_another_that_ends_cupti(void **state)
{
	(void)state;
	guest.locks = true;
	assert_int_equal(slot.finalize(), 0);
	assert_int_equal(fake.nr_finalized, 1);
	assert_int_equal(guest.nr_fetched, 1);
	assert_int_equal(guest.nr_yielded, 1);
	assert_true(guest.ended);
	/* The guest holds nothing now, and is not asked. */
	assert_int_equal(slot.finalize(), 0);
	assert_int_equal(guest.nr_yielded, 1);
}

static void guest_that_cannot_give_way_fetches_nothing(void **state)
{
	(void)state;
	assert_int_equal(slot.finalize(), 0);
	assert_int_equal(guest.nr_fetched, 0);
	assert_int_equal(guest.nr_yielded, 1);
	assert_true(guest.ended);
}

static void guest_does_not_leave_a_second_subscriber(void **state)
{
	void *second = share();

	(void)state;
	assert_false(shared_subscriber_leave());
	assert_int_equal(slot.unsubscribe(second), 0);
	assert_true(shared_subscriber_leave());
	shared_subscriber_left(false);
	assert_true(shared_subscriber_leave());
	shared_subscriber_left(true);
}

static void who_subscribes_while_the_guest_is_away_is_told_when_it_is_back(void **state)
{
	void *second;

	(void)state;
	assert_int_equal(shared_subscriber_enable(1, CUPTI_ABI_DOMAIN_RESOURCE, 1), 0);
	assert_true(shared_subscriber_leave());
	shared_subscriber_left(true);
	assert_false(shared_subscriber_is_ours(CUPTI_ABI_DOMAIN_RESOURCE, 1));
	memset(fake.on, 0, sizeof(fake.on));
	fake.subscribe = CUPTI_ABI_SUCCESS; /* and would keep the guest out */
	second = share();
	assert_int_equal(fake.nr_subscribed, 0);
	assert_int_equal(slot.enable(1, second, CUPTI_ABI_DOMAIN_RESOURCE, 2), 0);
	assert_false(fake.on[CUPTI_ABI_DOMAIN_RESOURCE][2]);
	shared_subscriber_held(&library, &fake.handle);
	assert_true(fake.on[CUPTI_ABI_DOMAIN_RESOURCE][2]);
	assert_false(fake.on[CUPTI_ABI_DOMAIN_RESOURCE][1]);
	assert_int_equal(slot.unsubscribe(second), 0);
}

static void newer_subscriptions_are_shared_where_nothing_else_takes_them(void **state)
{
	struct cupti_subscriber_params params = {.size = sizeof(params)};
	void *second = NULL;

	(void)state;
	assert_int_equal(slot.subscribe_v2(&second, hear, &heard, &params), CUPTI_ABI_SUCCESS);
	assert_int_equal(slot.unsubscribe(second), 0);
	library.version = 130300;
	assert_int_equal(slot.subscribe_v2(&second, hear, &heard, &params),
			 CUPTI_ABI_SUBSCRIBER_TAKEN);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(second_subscriber_hears_of_what_it_enabled_and_nothing_else),
		TEST(callback_is_on_while_either_wants_it),
		TEST(domain_is_enabled_as_far_as_cupti_has_it),
		TEST(calls_of_the_driver_and_the_runtime_are_not_shared),
		TEST(there_is_one_second_subscriber_at_a_time),
		TEST(subscription_may_be_given_back_from_within_its_callback),
		TEST(where_another_holds_cupti_its_refusal_stands),
		TEST(calls_with_handles_of_cupti_reach_it),
		TEST(guest_gives_way_to_another_that_ends_cupti),
		TEST(guest_that_cannot_give_way_fetches_nothing),
		TEST(guest_does_not_leave_a_second_subscriber),
		TEST(who_subscribes_while_the_guest_is_away_is_told_when_it_is_back),
		TEST(newer_subscriptions_are_shared_where_nothing_else_takes_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

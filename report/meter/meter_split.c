#include "meter_split.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "report/statistics/exact_share.h"

#define NS_PER_S 1000000000u

/* A GPU's meter while it is divided. */
struct account {
	uint64_t idle, work, rest;
	exact_sum total; /* rate by time of all rows */
	exact_sum had;   /* of the rows that had their turn */
	uint64_t given;
};

struct split {
	const struct metered *metered;
	const struct profile *profile;
	struct account *accounts; /* owns; by device of metered, then by meter */
	meter_split_take *take;
	void *context;
};

/* A fit may say that work adds nothing. */
static bool is_fitted(const struct metered_meter *meter)
{
	return !meter->unfitted && meter->fit.nr_intervals > 0;
}

/* Without a fit all time weighs the same. */
static exact_sum weight_of(const struct metered_device *device, enum meter meter,
			   const struct fold_row *row, uint32_t class)
{
	const struct metered_meter *of = &device->meters[meter];

	return (exact_sum)(is_fitted(of) ? of->fit.class_rate[class] : 1) * row->ns;
}

static struct account *account_of(const struct split *split, const struct metered_device *device,
				  uint32_t meter)
{
	return &split->accounts[(size_t)(device - split->metered->devices) * METERS + meter];
}

static bool is_known(const struct metered_device *device, uint32_t meter)
{
	return device->meters[meter].ns > 0;
}

static int weigh(void *context, const struct fold_row *row)
{
	const struct split *split = context;
	const struct metered_device *device =
		metered_find(split->metered, split->profile, &row->key);
	const uint32_t class = device ? metered_class(device, &row->key) : 0;

	for (uint32_t i = 0; device && i < METERS; i++)
		account_of(split, device, i)->total += weight_of(device, (enum meter)i, row, class);
	return 0;
}

static uint64_t to_amount(exact_sum rate_ns)
{
	const exact_sum amount = (rate_ns + NS_PER_S / 2) / NS_PER_S;

	return amount > UINT64_MAX ? UINT64_MAX : (uint64_t)amount;
}

static void open_account(struct account *account, const struct metered_meter *meter)
{
	const uint64_t idle = to_amount((exact_sum)meter->fit.idle_rate * meter->ns);
	const uint64_t work = to_amount(account->total);

	account->idle = idle < meter->amount ? idle : meter->amount;
	account->work = meter->amount - account->idle;
	if (account->total == 0)
		account->work = 0;
	else if (is_fitted(meter) && work < account->work)
		account->work = work;
	account->rest = meter->amount - account->idle - account->work;
}

static void give_work(const struct split *split, enum meter meter, uint32_t class,
		      struct meter_part *part)
{
	struct account *account = account_of(split, part->device, meter);

	account->had += weight_of(part->device, meter, part->row, class);
	const uint64_t until =
		account->total ? exact_share(account->work, account->had, account->total) : 0;

	part->known |= 1u << meter;
	part->amounts[meter] = until - account->given;
	part->confidence[meter] = meter_confidence_work(part->device, meter, class);
	account->given = until;
}

static int give(void *context, const struct fold_row *row)
{
	const struct split *split = context;
	struct meter_part part = {.kind = METER_PART_WORK,
				  .device = metered_find(split->metered, split->profile, &row->key),
				  .row = row,
				  .ns = row->ns};

	if (!part.device || row->ns == 0)
		return 0;
	const uint32_t class = metered_class(part.device, &row->key);
	for (uint32_t i = 0; i < METERS; i++)
		if (is_known(part.device, i))
			give_work(split, (enum meter)i, class, &part);
	return split->take(split->context, &part);
}

/* Gives the idle part, or the part that nothing explains, unless it is nothing. */
static int give_other(const struct split *split, const struct metered_device *device,
		      enum meter_part_kind kind)
{
	struct meter_part part = {.kind = kind, .device = device};
	bool is_some = false;

	for (uint32_t i = 0; i < METERS; i++) {
		const struct account *account = account_of(split, device, i);
		const enum meter meter = (enum meter)i;

		if (!is_known(device, i))
			continue;
		part.known |= 1u << i;
		part.amounts[i] = kind == METER_PART_IDLE ? account->idle : account->rest;
		part.confidence[i] = kind == METER_PART_IDLE ? meter_confidence_idle(device, meter)
							     : meter_confidence_rest(device, meter);
		is_some |= part.amounts[i] > 0;
	}
	return is_some ? split->take(split->context, &part) : 0;
}

static int give_others(const struct split *split)
{
	int error = 0;

	for (uint32_t i = 0; i < split->metered->nr_devices && !error; i++) {
		const struct metered_device *device = &split->metered->devices[i];

		error = give_other(split, device, METER_PART_IDLE);
		if (!error)
			error = give_other(split, device, METER_PART_REST);
	}
	return error;
}

int meter_split_each(const struct metered *metered, const struct profile *profile,
		     meter_split_take *take, void *context)
{
	struct split split = {
		.metered = metered, .profile = profile, .take = take, .context = context};

	if (metered->nr_devices == 0)
		return 0;
	split.accounts = calloc((size_t)metered->nr_devices * METERS, sizeof(*split.accounts));
	int error = split.accounts ? profile_each_total(profile, weigh, &split) : -ENOMEM;
	for (uint32_t i = 0; i < metered->nr_devices * METERS && !error; i++)
		open_account(&split.accounts[i], &metered->devices[i / METERS].meters[i % METERS]);
	if (!error)
		error = profile_each_total(profile, give, &split);
	if (!error)
		error = give_others(&split);
	free(split.accounts);
	return error;
}

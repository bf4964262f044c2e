#include "meter_split.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "report/stalls/stall_share.h"

#define MW_NS_PER_MJ 1000000000u

/* A GPU's energy while it is divided. */
struct account {
	uint64_t idle_mj, work_mj, rest_mj;
	stall_sum total; /* power by time of all rows, in mW times ns */
	stall_sum had;   /* of the rows that had their turn */
	uint64_t given_mj;
};

struct split {
	const struct metered *energy;
	const struct profile *profile;
	struct account *accounts; /* owns; by device of energy */
	meter_split_take *take;
	void *context;
};

/* Without a fit all time weighs the same. */
static stall_sum weight_of(const struct metered_device *device, const struct fold_row *row)
{
	const uint32_t mw =
		device->fit.work_mw ? device->fit.class_mw[metered_class(device, &row->key)] : 1;

	return (stall_sum)mw * row->ns;
}

static struct account *account_of(const struct split *split, const struct metered_device *device)
{
	return &split->accounts[device - split->energy->devices];
}

static int weigh(void *context, const struct fold_row *row)
{
	const struct split *split = context;
	const struct metered_device *device = metered_find(split->energy, split->profile, &row->key);

	if (device)
		account_of(split, device)->total += weight_of(device, row);
	return 0;
}

static uint64_t to_mj(stall_sum mw_ns)
{
	const stall_sum mj = (mw_ns + MW_NS_PER_MJ / 2) / MW_NS_PER_MJ;

	return mj > UINT64_MAX ? UINT64_MAX : (uint64_t)mj;
}

static void open_account(struct account *account, const struct metered_device *device)
{
	const uint64_t idle_mj = to_mj((stall_sum)device->fit.idle_mw * device->ns);
	const uint64_t work_mj = to_mj(account->total);

	account->idle_mj = idle_mj < device->mj ? idle_mj : device->mj;
	account->work_mj = device->mj - account->idle_mj;
	if (account->total == 0)
		account->work_mj = 0;
	else if (device->fit.work_mw && work_mj < account->work_mj)
		account->work_mj = work_mj;
	account->rest_mj = device->mj - account->idle_mj - account->work_mj;
}

static int give(void *context, const struct fold_row *row)
{
	const struct split *split = context;
	const struct metered_device *device = metered_find(split->energy, split->profile, &row->key);

	if (!device || row->ns == 0)
		return 0;
	struct account *account = account_of(split, device);
	account->had += weight_of(device, row);
	const uint64_t until_mj =
		account->total ? stall_share(account->work_mj, account->had, account->total) : 0;
	const struct meter_part part = {
		.kind = METER_PART_WORK,
		.device = device,
		.row = row,
		.ns = row->ns,
		.mj = until_mj - account->given_mj,
		.confidence = meter_confidence_work(device, metered_class(device, &row->key))};

	account->given_mj = until_mj;
	return split->take(split->context, &part);
}

static int give_others(const struct split *split)
{
	int error = 0;

	for (uint32_t i = 0; i < split->energy->nr_devices && !error; i++) {
		const struct metered_device *device = &split->energy->devices[i];
		const struct meter_part idle = {.kind = METER_PART_IDLE,
						 .device = device,
						 .mj = split->accounts[i].idle_mj,
						 .confidence = meter_confidence_idle(device)};
		const struct meter_part rest = {.kind = METER_PART_REST,
						 .device = device,
						 .mj = split->accounts[i].rest_mj,
						 .confidence = meter_confidence_rest(device)};

		if (idle.mj)
			error = split->take(split->context, &idle);
		if (!error && rest.mj)
			error = split->take(split->context, &rest);
	}
	return error;
}

int meter_split_each(const struct metered *energy, const struct profile *profile,
		      meter_split_take *take, void *context)
{
	struct split split = {
		.energy = energy, .profile = profile, .take = take, .context = context};

	if (energy->nr_devices == 0)
		return 0;
	split.accounts = calloc(energy->nr_devices, sizeof(*split.accounts));
	int error = split.accounts ? profile_each_total(profile, weigh, &split) : -ENOMEM;
	for (uint32_t i = 0; i < energy->nr_devices && !error; i++)
		open_account(&split.accounts[i], &energy->devices[i]);
	if (!error)
		error = profile_each_total(profile, give, &split);
	if (!error)
		error = give_others(&split);
	free(split.accounts);
	return error;
}

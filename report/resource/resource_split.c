#include "resource_split.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "resource_classes.h"

#include "report/statistics/exact_share.h"

#define NS_PER_S 1000000000u

/* A GPU's resource while it is divided. */
struct account {
	uint64_t idle, work, rest;
	exact_sum total; /* rate by time of all rows */
	exact_sum had;   /* of the rows that had their turn */
	uint64_t given;
};

struct split {
	const struct resource_usage *usage;
	const struct profile *profile;
	struct account *accounts; /* owns; by device of usage, then by resource */
	resource_split_take *take;
	void *context;
};

/* A fit may say that work adds nothing. */
static bool is_fitted(const struct resource_usage_sum *resource)
{
	return !resource->unfitted && resource->fit.nr_intervals > 0;
}

/* Without a fit all time weighs the same. */
static exact_sum weight_of(const struct resource_usage_device *device, enum resource resource,
			   const struct fold_row *row, uint32_t class)
{
	const struct resource_usage_sum *of = &device->resources[resource];

	return (exact_sum)(is_fitted(of) ? of->fit.class_rate[class] : 1) * row->ns;
}

static struct account *account_of(const struct split *split,
				  const struct resource_usage_device *device, uint32_t resource)
{
	return &split->accounts[(size_t)(device - split->usage->devices) * RESOURCES + resource];
}

static bool is_known(const struct resource_usage_device *device, uint32_t resource)
{
	return device->resources[resource].ns > 0;
}

static int weigh(void *context, const struct fold_row *row)
{
	const struct split *split = context;
	const struct resource_usage_device *device =
		resource_usage_find(split->usage, split->profile, &row->key);
	const uint32_t class = device ? resource_classes_find(device, &row->key) : 0;

	for (uint32_t i = 0; device && i < RESOURCES; i++)
		account_of(split, device, i)->total +=
			weight_of(device, (enum resource)i, row, class);
	return 0;
}

static uint64_t to_amount(exact_sum rate_ns)
{
	const exact_sum amount = (rate_ns + NS_PER_S / 2) / NS_PER_S;

	return amount > UINT64_MAX ? UINT64_MAX : (uint64_t)amount;
}

static void open_account(struct account *account, const struct resource_usage_sum *resource)
{
	const uint64_t idle = to_amount((exact_sum)resource->fit.idle_rate * resource->ns);
	const uint64_t work = to_amount(account->total);

	account->idle = idle < resource->amount ? idle : resource->amount;
	account->work = resource->amount - account->idle;
	if (account->total == 0)
		account->work = 0;
	else if (is_fitted(resource) && work < account->work)
		account->work = work;
	account->rest = resource->amount - account->idle - account->work;
}

static void give_work(const struct split *split, enum resource resource, uint32_t class,
		      struct resource_part *part)
{
	struct account *account = account_of(split, part->device, resource);

	account->had += weight_of(part->device, resource, part->row, class);
	const uint64_t until =
		account->total ? exact_share(account->work, account->had, account->total) : 0;

	part->known |= 1u << resource;
	part->amounts[resource] = until - account->given;
	part->confidence[resource] = resource_confidence_work(part->device, resource, class);
	account->given = until;
}

static int give(void *context, const struct fold_row *row)
{
	const struct split *split = context;
	struct resource_part part = {
		.kind = RESOURCE_PART_WORK,
		.device = resource_usage_find(split->usage, split->profile, &row->key),
		.row = row,
		.ns = row->ns};

	if (!part.device || row->ns == 0)
		return 0;
	const uint32_t class = resource_classes_find(part.device, &row->key);
	for (uint32_t i = 0; i < RESOURCES; i++)
		if (is_known(part.device, i))
			give_work(split, (enum resource)i, class, &part);
	return split->take(split->context, &part);
}

/* Gives the idle part, or the part that nothing explains, unless it is nothing. */
static int give_other(const struct split *split, const struct resource_usage_device *device,
		      enum resource_part_kind kind)
{
	struct resource_part part = {.kind = kind, .device = device};
	bool is_some = false;

	for (uint32_t i = 0; i < RESOURCES; i++) {
		const struct account *account = account_of(split, device, i);
		const enum resource resource = (enum resource)i;

		if (!is_known(device, i))
			continue;
		part.known |= 1u << i;
		part.amounts[i] = kind == RESOURCE_PART_IDLE ? account->idle : account->rest;
		part.confidence[i] = kind == RESOURCE_PART_IDLE
					     ? resource_confidence_idle(device, resource)
					     : resource_confidence_rest(device, resource);
		is_some |= part.amounts[i] > 0;
	}
	return is_some ? split->take(split->context, &part) : 0;
}

static int give_others(const struct split *split)
{
	int error = 0;

	for (uint32_t i = 0; i < split->usage->nr_devices && !error; i++) {
		const struct resource_usage_device *device = &split->usage->devices[i];

		error = give_other(split, device, RESOURCE_PART_IDLE);
		if (!error)
			error = give_other(split, device, RESOURCE_PART_REST);
	}
	return error;
}

int resource_split_each(const struct resource_usage *usage, const struct profile *profile,
			resource_split_take *take, void *context)
{
	struct split split = {.usage = usage, .profile = profile, .take = take, .context = context};

	if (usage->nr_devices == 0)
		return 0;
	split.accounts = calloc((size_t)usage->nr_devices * RESOURCES, sizeof(*split.accounts));
	int error = split.accounts ? profile_each_total(profile, weigh, &split) : -ENOMEM;
	for (uint32_t i = 0; i < usage->nr_devices * RESOURCES && !error; i++)
		open_account(&split.accounts[i],
			     &usage->devices[i / RESOURCES].resources[i % RESOURCES]);
	if (!error)
		error = profile_each_total(profile, give, &split);
	if (!error)
		error = give_others(&split);
	free(split.accounts);
	return error;
}

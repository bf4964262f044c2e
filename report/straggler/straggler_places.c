#include "straggler_places.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/collective_fold.h"
#include "aggregator/profile/roster.h"
#include "report/names/clean_text.h"

#define PART_HOSTS 4u /* of a part of the ranks, at most, that are told by their names */

struct host_name {
	const char *data;
	uint32_t size;
	/* bytes before the last number of its first label, and before what follows that; without one: all */
	uint32_t stem, rest;
};

static const struct roster_process *process_of(const struct profile *profile,
					       const struct collective_fold *fold, uint32_t member)
{
	return roster_process(profile->collection->roster, fold->members[member].process);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static struct host_name name_of(const struct profile *profile, uint32_t host_id)
{
	const struct roster_host *host = roster_host(profile->collection->roster, host_id);
	struct host_name name = {"", 0, 0, 0};

	if (host)
		name.data = catalog_string(profile->collection->catalog, host->node, &name.size);
	const char *point = memchr(name.data, '.', name.size);
	uint32_t end = point ? (uint32_t)(point - name.data) : name.size;
	while (end > 0 && !is_digit(name.data[end - 1]))
		end--;
	name.rest = end;
	while (end > 0 && is_digit(name.data[end - 1]))
		end--;
	name.stem = end;
	if (!end)
		name.stem = name.rest = name.size;
	return name;
}

static bool is_alike(const struct host_name *a, const struct host_name *b)
{
	const uint32_t rest = a->size - a->rest;

	return a->stem == b->stem && rest == b->size - b->rest &&
	       memcmp(a->data, b->data, a->stem) == 0 &&
	       memcmp(a->data + a->rest, b->data + b->rest, rest) == 0;
}

/* Returns the first member whose host is like that of this one. */
static uint32_t first_alike(const struct profile *profile, const struct collective_fold *fold,
			    uint32_t member)
{
	struct host_name own = name_of(profile, process_of(profile, fold, member)->identity.host);

	for (uint32_t i = 0; i < member; i++) {
		struct host_name other =
			name_of(profile, process_of(profile, fold, i)->identity.host);

		if (is_alike(&own, &other))
			return i;
	}
	return member;
}

static const char *switch_of(const struct profile *profile, const struct collective_fold *fold,
			     const struct straggler_switches *switches, uint32_t member)
{
	return straggler_switches_of(switches, process_of(profile, fold, member)->identity.host);
}

/* Returns the first member with the same switch; STRAGGLER_PLACE_NONE: the switch of this one is not known. */
static uint32_t first_at_switch(const struct profile *profile, const struct collective_fold *fold,
				const struct straggler_switches *switches, uint32_t member)
{
	const char *own = switch_of(profile, fold, switches, member);

	for (uint32_t i = 0; i < member && own; i++) {
		const char *other = switch_of(profile, fold, switches, i);

		if (other && strcmp(own, other) == 0)
			return i;
	}
	return own ? member : STRAGGLER_PLACE_NONE;
}

int straggler_places_find(const struct profile *profile, const struct collective_fold *fold,
			  const struct straggler_switches *switches,
			  struct straggler_place **places)
{
	bool all = true;

	*places = calloc(fold->nr_members + 1ul, sizeof(**places));
	if (!*places)
		return -ENOMEM;
	for (uint32_t i = 0; i < fold->nr_members; i++) {
		const struct roster_process *process = process_of(profile, fold, i);
		uint32_t *numbers = (*places)[i].numbers;

		numbers[STRAGGLER_GROUP_STAGE] = STRAGGLER_PLACE_NONE;
		numbers[STRAGGLER_GROUP_SWITCH] = first_at_switch(profile, fold, switches, i);
		numbers[STRAGGLER_GROUP_HOSTS] = first_alike(profile, fold, i);
		numbers[STRAGGLER_GROUP_HOST] = process->identity.host;
		numbers[STRAGGLER_GROUP_LOCAL_RANK] = process->local_rank >= 0
							      ? (uint32_t)process->local_rank
							      : STRAGGLER_PLACE_NONE;
		all &= numbers[STRAGGLER_GROUP_SWITCH] != STRAGGLER_PLACE_NONE;
	}
	for (uint32_t i = 0; i < fold->nr_members && all; i++)
		(*places)[i].numbers[STRAGGLER_GROUP_HOSTS] = STRAGGLER_PLACE_NONE;
	return 0;
}

static int print_host(const struct profile *profile, uint32_t host, char **name)
{
	const struct host_name text = name_of(profile, host);

	*name = clean_text_of(text.data, text.size);
	return *name ? 0 : -ENOMEM;
}

/* Prints the name of hosts that are like this one. */
static int print_hosts(const struct profile *profile, uint32_t host, char **name)
{
	const struct host_name text = name_of(profile, host);
	char *stem = clean_text_of(text.data, text.stem);
	char *rest = clean_text_of(text.data + text.rest, text.size - text.rest);
	const int size = stem && rest ? asprintf(name, "hosts %s*%s", stem, rest) : -1;

	free(stem);
	free(rest);
	return size < 0 ? -ENOMEM : 0;
}

static uint32_t count_hosts(const struct profile *profile, const struct collective_fold *fold,
			    const struct straggler_group *group)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < group->nr_members; i++) {
		uint32_t host = process_of(profile, fold, group->members[i])->identity.host, j = 0;

		while (j < i && process_of(profile, fold, group->members[j])->identity.host != host)
			j++;
		count += j == i;
	}
	return count;
}

static int print_switch(const struct profile *profile, const struct collective_fold *fold,
			const struct straggler_switches *switches,
			const struct straggler_group *group, char **name)
{
	const uint32_t count = count_hosts(profile, fold, group);

	return asprintf(name, "%s, %" PRIu32 " hosts",
			switch_of(profile, fold, switches, group->number), count);
}

/* Returns whether a group has all ranks of its hosts. */
static bool has_whole_hosts(const struct profile *profile, const struct collective_fold *fold,
			    const struct straggler_group *group)
{
	uint32_t inside = 0;

	for (uint32_t i = 0; i < fold->nr_members; i++) {
		const uint32_t host = process_of(profile, fold, i)->identity.host;

		for (uint32_t j = 0; j < group->nr_members; j++)
			if (process_of(profile, fold, group->members[j])->identity.host == host) {
				inside++;
				break;
			}
	}
	return inside == group->nr_members;
}

/* Finds the hosts of a group in the order of its ranks. Returns how many; PART_HOSTS + 1: more than PART_HOSTS. */
static uint32_t list_hosts(const struct profile *profile, const struct collective_fold *fold,
			   const struct straggler_group *group, uint32_t hosts[PART_HOSTS])
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < group->nr_members; i++) {
		const uint32_t host = process_of(profile, fold, group->members[i])->identity.host;
		uint32_t j = 0;

		while (j < nr && hosts[j] != host)
			j++;
		if (j < nr)
			continue;
		if (nr == PART_HOSTS)
			return nr + 1;
		hosts[nr++] = host;
	}
	return nr;
}

static int append_host(const struct profile *profile, uint32_t host, char **name)
{
	char *text, *longer;
	const int error = print_host(profile, host, &text);

	if (error || asprintf(&longer, "%s, %s", *name, text) < 0)
		longer = NULL;
	free(text);
	free(*name);
	*name = longer;
	return longer ? 0 : -ENOMEM;
}

/* A few whole hosts are told by their names, and more by their number. */
static int print_part(const struct profile *profile, const struct collective_fold *fold,
		      const struct straggler_group *group, char **name)
{
	uint32_t hosts[PART_HOSTS];
	const uint32_t count = list_hosts(profile, fold, group, hosts);
	int error;

	*name = strdup("the later of two groups");
	error = *name ? 0 : -ENOMEM;
	if (error || count < 2 || !has_whole_hosts(profile, fold, group))
		return error;
	if (count > PART_HOSTS) {
		free(*name);
		if (asprintf(name, "the later of two groups, %" PRIu32 " hosts",
			     count_hosts(profile, fold, group)) < 0)
			*name = NULL;
		return *name ? 0 : -ENOMEM;
	}
	for (uint32_t i = 0; i < count && !error; i++)
		error = append_host(profile, hosts[i], name);
	return error;
}

int straggler_places_name(const struct profile *profile, const struct collective_fold *fold,
			  const struct straggler_switches *switches,
			  const struct straggler_group *group, char **name)
{
	int size = 0;

	*name = NULL;
	switch (group->kind) {
	case STRAGGLER_GROUP_STAGE:
		size = asprintf(name, "stage %" PRIu32, group->number);
		break;
	case STRAGGLER_GROUP_SWITCH:
		size = print_switch(profile, fold, switches, group, name);
		break;
	case STRAGGLER_GROUP_HOST:
		return print_host(profile, group->number, name);
	case STRAGGLER_GROUP_HOSTS:
		return print_hosts(profile, process_of(profile, fold, group->number)->identity.host,
				   name);
	case STRAGGLER_GROUP_LOCAL_RANK:
		size = asprintf(name, "local rank %" PRIu32 " of each host", group->number);
		break;
	default:
		return print_part(profile, fold, group, name);
	}
	return size < 0 ? -ENOMEM : 0;
}

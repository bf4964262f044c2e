#include "idle_words.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "report/digest/loader_name.h"

#define STACKS_MAX 64u /* of one idle time; later ones do not count as its stack */
#define WAITS_MAX  16u /* reasons of waits; the same */
#define LABEL_SIZE 160u

struct share {
	uint32_t id; /* of a node, or of a wait's reason */
	uint64_t ns;
};

struct doing { /* what the thread did meanwhile */
	struct share stacks[STACKS_MAX], waits[WAITS_MAX];
	uint32_t nr_stacks, nr_waits;
	uint64_t all_ns, cpu_ns, loader_ns;
};

static void add_share(struct share *shares, uint32_t *nr, uint32_t most, uint32_t id, uint64_t ns)
{
	uint32_t i = 0;

	while (i < *nr && shares[i].id != id)
		i++;
	if (i == most)
		return;
	if (i == *nr)
		shares[(*nr)++] = (struct share){.id = id};
	shares[i].ns += ns;
}

/* nr is above 0. */
static struct share largest(const struct share *shares, uint32_t nr)
{
	uint32_t found = 0;

	for (uint32_t i = 1; i < nr; i++)
		if (shares[i].ns > shares[found].ns)
			found = i;
	return shares[found];
}

static bool is_in_loader(const struct idle_words *words, uint32_t node)
{
	for (; node != REPORT_NODE_ROOT; node = report_paths_node(words->paths, node)->parent)
		if (loader_name_is(report_names_get(words->names,
						    report_paths_node(words->paths, node)->name)))
			return true;
	return false;
}

static int add_sample(const struct idle_words *words, const struct timeline_sample *sample,
		      uint64_t ns, struct doing *doing)
{
	const struct fold_key key = {.process_id = sample->process_id,
				     .tid = sample->tid,
				     .stack_id = sample->stack_id,
				     .kind = (uint8_t)(REPORT_KIND_HOST + sample->kind),
				     .matched = 1};
	uint32_t node;

	doing->all_ns += ns;
	if (sample->kind == HOST_SAMPLE_CPU)
		doing->cpu_ns += ns;
	else
		add_share(doing->waits, &doing->nr_waits, WAITS_MAX, sample->name_id, ns);
	if (!sample->stack_id)
		return 0;
	int error = report_paths_find(words->paths, &key, &node);
	if (error)
		return error;
	add_share(doing->stacks, &doing->nr_stacks, STACKS_MAX, node, ns);
	if (is_in_loader(words, node))
		doing->loader_ns += ns;
	return 0;
}

static int look(const struct idle_words *words, const struct timeline_idle *idle,
		const struct timeline_launch *launch, struct doing *doing)
{
	const struct timeline_samples *samples = words->samples;
	int error = 0;

	for (uint32_t i = timeline_samples_find(samples, launch->process_id, launch->tid,
						idle->begin_ns);
	     i < samples->nr_samples && !error; i++) {
		const struct timeline_sample *sample = &samples->samples[i];

		if (sample->process_id != launch->process_id || sample->tid != launch->tid ||
		    sample->begin_ns >= idle->end_ns)
			break;
		const uint64_t begin_ns =
			sample->begin_ns > idle->begin_ns ? sample->begin_ns : idle->begin_ns;
		const uint64_t end_ns =
			sample->end_ns < idle->end_ns ? sample->end_ns : idle->end_ns;
		error = add_sample(words, sample, end_ns - begin_ns, doing);
	}
	return error;
}

/* "idle: host waits (futex)" */
static int name_wait(const struct idle_words *words, uint32_t name_id,
		     char label[static LABEL_SIZE])
{
	const struct fold_key key = {
		.name_id = name_id, .kind = REPORT_KIND_HOST + HOST_SAMPLE_OFF_CPU, .matched = 1};
	uint32_t leaf;

	snprintf(label, LABEL_SIZE, "idle: host waits");
	if (!name_id)
		return 0;
	int error = report_names_leaf(words->names, &key, REPORT_GPU_NONE, &leaf);
	if (error)
		return error;
	const char *reason = strchr(report_names_get(words->names, leaf), ']');
	if (reason && strcmp(reason, "]gpu") == 0)
		snprintf(label, LABEL_SIZE, "idle: host waits for the GPU");
	else if (reason && reason[1])
		snprintf(label, LABEL_SIZE, "idle: host waits (%.100s)", reason + 1);
	return 0;
}

/* Says what the host did for the longest. */
static int name_doing(const struct idle_words *words, const struct doing *doing,
		      char label[static LABEL_SIZE])
{
	const struct share wait =
		doing->nr_waits ? largest(doing->waits, doing->nr_waits) : (struct share){0};

	if (doing->loader_ns >= doing->all_ns - doing->loader_ns)
		snprintf(label, LABEL_SIZE, "idle: waiting for input");
	else if (wait.ns > doing->cpu_ns)
		return name_wait(words, wait.id, label);
	else
		snprintf(label, LABEL_SIZE, "idle: host works");
	return 0;
}

int idle_words_find(const struct idle_words *words, const struct timeline_idle *idle,
		    const struct timeline_launch *launch, uint32_t *text, uint32_t *node)
{
	static const char *const plain[] = {
		[TIMELINE_IDLE_UNKNOWN] = "idle",
		[TIMELINE_IDLE_LAUNCHES] = "idle: launch-bound",
		[TIMELINE_IDLE_HOST] = "idle: host did not launch",
		[TIMELINE_IDLE_START] = "idle: launched, not started",
		[TIMELINE_IDLE_PAUSE] = "not captured",
	};
	struct doing doing = {.nr_stacks = 0};
	char label[LABEL_SIZE];
	int error = 0;

	*node = REPORT_NODE_ROOT;
	if (idle->reason == TIMELINE_IDLE_HOST && launch)
		error = look(words, idle, launch, &doing);
	if (!error && (!doing.all_ns || doing.all_ns < (idle->end_ns - idle->begin_ns) / 2))
		return report_names_text(words->names, plain[idle->reason], text);
	if (!error)
		error = name_doing(words, &doing, label);
	if (error)
		return error;
	if (doing.nr_stacks)
		*node = largest(doing.stacks, doing.nr_stacks).id;
	return report_names_text(words->names, label, text);
}

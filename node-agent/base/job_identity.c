#include "job_identity.h"

#include <stdio.h>
#include <string.h>

#include "proto/options/record_options.h"
#include "proto/options/sample_option.h"

/* The innermost launcher comes first: torchrun inside mpirun inside a Slurm batch script sets all three. */
static const struct launcher {
	const char *rank, *local_rank, *world_size;
	const char *witness; /* must also be set; NULL: the rank alone is enough */
} launchers[] = {
	{"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_RANK"},
	{"RANK", "LOCAL_RANK", "WORLD_SIZE", "TORCHELASTIC_RUN_ID"},
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE", NULL},
	{"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_SIZE", NULL},
	{"PALS_RANKID", "PALS_LOCAL_RANKID", "PALS_SIZE", NULL},
	{"FLUX_TASK_RANK", "FLUX_TASK_LOCAL_ID", "FLUX_JOB_SIZE", NULL},
	{"PMIX_RANK", "PMIX_LOCAL_RANK", "PMIX_SIZE", NULL},
	{"PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE", NULL},
	{"PMI_RANK", "PMI_LOCAL_RANK", "PMI_UNIVERSE_SIZE", NULL},
	{"SLURM_PROCID", "SLURM_LOCALID", "SLURM_STEP_NUM_TASKS", NULL},
	/* a batch script is no step, and has the number of tasks that its job may start */
	{"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS", "SLURM_STEP_ID"},
	{"RANK", "LOCAL_RANK", "WORLD_SIZE", NULL},
};

/* The best-known name of a job comes first. A torchrun id is "none" unless the user chose one. */
static const char *const job_names[] = {
	"SLURM_JOB_ID", "SLURM_JOBID", "PBS_JOBID",           "LSB_JOBID",
	"FLUX_JOB_ID",  "JOB_ID",      "TORCHELASTIC_RUN_ID",
};

/* An mpirun within a Slurm job starts its ranks itself, and those of other nodes from a step of its own. So their steps
 * tell nothing. Some name each run, also where there is no job. */
static const struct starter {
	const char *witness;
	const char *run; /* NULL: it does not name it */
} other_starters[] = {
	{"OMPI_COMM_WORLD_RANK", "PMIX_NAMESPACE"},
	{"MV2_COMM_WORLD_RANK", NULL},
	/* PMI_PORT is of Hydra's proxy on each node, so the nodes of a run have different ones. */
	{"MPI_LOCALRANKID", NULL},
	{"PMI_PORT", NULL},
	{"PALS_RANKID", "PALS_APID"},
};

static const char *find(const char *environment, size_t size, const char *name, size_t *value_size)
{
	size_t name_size = strlen(name);

	while (size > 0) {
		size_t entry_size = strnlen(environment, size);

		if (entry_size > name_size && environment[name_size] == '=' &&
		    memcmp(environment, name, name_size) == 0) {
			*value_size = entry_size - name_size - 1;
			return environment + name_size + 1;
		}
		if (entry_size < size)
			entry_size++;
		environment += entry_size;
		size -= entry_size;
	}
	*value_size = 0;
	return NULL;
}

/* Returns a decimal number from 0 to INT32_MAX, or MESSAGE_RANK_NONE for any other text. */
static int32_t find_number(const char *environment, size_t size, const char *name)
{
	size_t value_size;
	const char *value = find(environment, size, name, &value_size);
	int64_t number = 0;

	if (!value || value_size == 0)
		return MESSAGE_RANK_NONE;
	for (size_t i = 0; i < value_size; i++) {
		if (value[i] < '0' || value[i] > '9')
			return MESSAGE_RANK_NONE;
		number = number * 10 + (value[i] - '0');
		if (number > INT32_MAX)
			return MESSAGE_RANK_NONE;
	}
	return (int32_t)number;
}

static bool applies(const struct launcher *launcher, const char *environment, size_t size)
{
	size_t value_size;

	return !launcher->witness || find(environment, size, launcher->witness, &value_size);
}

static void read_ranks(const char *environment, size_t size, struct job_identity *identity)
{
	for (size_t i = 0; i < sizeof(launchers) / sizeof(*launchers); i++) {
		int32_t rank = find_number(environment, size, launchers[i].rank);

		if (rank == MESSAGE_RANK_NONE || !applies(&launchers[i], environment, size))
			continue;
		if (identity->rank == MESSAGE_RANK_NONE)
			identity->rank = rank;
		/* An outer launcher with the same rank for this process may know more about it. */
		if (identity->rank != rank)
			continue;
		if (identity->local_rank == MESSAGE_RANK_NONE)
			identity->local_rank =
				find_number(environment, size, launchers[i].local_rank);
		if (identity->world_size == MESSAGE_RANK_NONE)
			identity->world_size =
				find_number(environment, size, launchers[i].world_size);
	}
}

/* A part of a text whose parts have points between them. NULL: there are fewer. */
static const char *find_part(const char *text, size_t size, size_t index, size_t *part_size)
{
	const char *end = text + size;

	for (;; index--) {
		const char *point = memchr(text, '.', (size_t)(end - text));

		*part_size = (size_t)((point ? point : end) - text);
		if (index == 0)
			return text;
		if (!point)
			return NULL;
		text = point + 1;
	}
}

static bool is_name(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	return size > 0;
}

/* Slurm's topology plugins set an address, "s0.s3.node17", and its pattern, "switch.switch.node". A name of a node may
 * have points. */
static void read_switch(const char *environment, size_t size, struct job_identity *identity)
{
	size_t address_size, pattern_size, parts = 1, kind_size, name_size, node_size;
	const char *address = find(environment, size, "SLURM_TOPOLOGY_ADDR", &address_size);
	const char *pattern = find(environment, size, "SLURM_TOPOLOGY_ADDR_PATTERN", &pattern_size);

	if (!address || !pattern)
		return;
	for (size_t i = 0; i < pattern_size; i++)
		parts += pattern[i] == '.';
	const char *last = find_part(pattern, pattern_size, parts - 1, &node_size);
	if (parts < 2 || node_size != 4 || memcmp(last, "node", 4) != 0)
		return;
	const char *kind = find_part(pattern, pattern_size, parts - 2, &kind_size);
	const char *name = find_part(address, address_size, parts - 2, &name_size);
	if (!name || !find_part(address, address_size, parts - 1, &node_size) ||
	    !is_name(name, name_size) || !is_name(kind, kind_size) ||
	    kind_size + name_size + 2 > sizeof(identity->network_switch))
		return;
	snprintf(identity->network_switch, sizeof(identity->network_switch), "%.*s %.*s",
		 (int)kind_size, kind, (int)name_size, name);
}

static void read_run(const char *environment, size_t size, const char *name,
		     char run[static JOB_IDENTITY_JOB_MAX])
{
	size_t value_size;
	const char *value = name ? find(environment, size, name, &value_size) : NULL;

	if (!value)
		return;
	if (value_size >= JOB_IDENTITY_JOB_MAX)
		value_size = JOB_IDENTITY_JOB_MAX - 1;
	for (size_t i = 0; i < value_size; i++)
		run[i] = value[i] > ' ' && value[i] < 0x7f ? value[i] : '_';
}

static void read_step(const char *environment, size_t size, struct job_identity *identity)
{
	size_t value_size;

	identity->step = MESSAGE_RANK_NONE;
	for (size_t i = 0; i < sizeof(other_starters) / sizeof(*other_starters); i++)
		if (find(environment, size, other_starters[i].witness, &value_size)) {
			read_run(environment, size, other_starters[i].run, identity->run);
			return;
		}
	if (find(environment, size, "SLURM_JOB_ID", &value_size))
		identity->step = find_number(environment, size, "SLURM_STEP_ID");
}

static void read_job(const char *environment, size_t size, char job[static JOB_IDENTITY_JOB_MAX])
{
	for (size_t i = 0; i < sizeof(job_names) / sizeof(*job_names); i++) {
		size_t value_size;
		const char *value = find(environment, size, job_names[i], &value_size);

		if (!value || value_size == 0 || (value_size == 4 && memcmp(value, "none", 4) == 0))
			continue;
		if (value_size >= JOB_IDENTITY_JOB_MAX)
			value_size = JOB_IDENTITY_JOB_MAX - 1;
		memcpy(job, value, value_size);
		return;
	}
}

/* Returns the value of a variable as a guest gets it; "": it is not set, or too long for any option. */
static const char *find_option(const char *environment, size_t size, const char *name,
			       char text[static RECORD_OPTIONS_SIZE])
{
	size_t value_size;
	const char *value = find(environment, size, name, &value_size);

	if (!value || value_size >= RECORD_OPTIONS_SIZE)
		value_size = 0;
	memcpy(text, value ? value : "", value_size);
	text[value_size] = '\0';
	return text;
}

static bool samples_kernels(const char *environment, size_t size)
{
	char text[RECORD_OPTIONS_SIZE];
	uint32_t record, rate;

	record_options_parse(find_option(environment, size, RECORD_OPTIONS_ENV, text), &record);
	sample_option_parse(find_option(environment, size, SAMPLE_OPTION_ENV, text), &rate);
	return record & RECORD_OPTION_STALLS || rate;
}

void job_identity_read(const char *environment, size_t size, struct job_identity *identity)
{
	memset(identity, 0, sizeof(*identity));
	identity->rank = identity->local_rank = identity->world_size = MESSAGE_RANK_NONE;
	read_ranks(environment, size, identity);
	read_switch(environment, size, identity);
	read_job(environment, size, identity->job);
	read_step(environment, size, identity);
	identity->samples_kernels = samples_kernels(environment, size);
}

#include "job_step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node-agent/base/job_identity.h"
#include "node-agent/files/proc_file.h"

#define ENVIRONMENT_MAX (1u << 20)

/* The launchers that name their steps, the one nearest to the process first. MPICH's Hydra does not: PMI_PORT is its
 * proxy's on each node. An mpirun in a Slurm allocation sets its own variables, and its
 * processes inherit Slurm's. */
static const struct launcher {
	const char *witness;    /* only this launcher sets it */
	const char *parts[3];   /* of the key; the first one must be set */
	const char *nr_nodes;   /* NULL: the launcher does not set it */
	const char *node_index; /* the same */
	const char *local_size; /* the number of ranks on this node; the same */
} launchers[] = {
	/* The id is "none" unless the user chose one, so rank 0's address is part of the key
	 * (docs.pytorch.org/docs/stable/elastic/run.html). */
	{"TORCHELASTIC_RUN_ID",
	 {"TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT"},
	 "GROUP_WORLD_SIZE",
	 "GROUP_RANK",
	 NULL},
	/* docs.open-mpi.org/en/v5.0.x/tuning-apps/environment-var.html */
	{"OMPI_COMM_WORLD_RANK", {"PMIX_NAMESPACE"}, NULL, NULL, "OMPI_COMM_WORLD_LOCAL_SIZE"},
	/* Slurm's src/plugins/mpi/cray_shasta sets the same. */
	{"PALS_RANKID", {"PALS_APID"}, NULL, "PALS_NODEID", NULL},
	{"FLUX_TASK_RANK",
	 {"FLUX_JOB_ID"},
	 "FLUX_JOB_NNODES",
	 NULL,
	 NULL}, /* flux-environment(7) */
	/* A requeued job numbers its steps anew, so the restart count is part of the key. */
	{"SLURM_STEP_ID",
	 {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"},
	 "SLURM_STEP_NUM_NODES",
	 "SLURM_NODEID",
	 NULL},
	{"PMIX_NAMESPACE", {"PMIX_NAMESPACE"}, NULL, NULL, NULL},
};

struct block {
	const char *text;
	size_t size;
};

/* Returns the value up to its NUL or the block's end; NULL: not set, or empty. */
static const char *find(const struct block *block, const char *name, size_t *value_size)
{
	size_t name_size = strlen(name);

	for (size_t at = 0; at < block->size;) {
		const char *entry = block->text + at;
		size_t size = strnlen(entry, block->size - at);

		if (size > name_size + 1 && entry[name_size] == '=' &&
		    memcmp(entry, name, name_size) == 0) {
			*value_size = size - name_size - 1;
			return entry + name_size + 1;
		}
		at += size + 1;
	}
	return NULL;
}

static bool append(char key[static JOB_STEP_KEY_SIZE], const struct block *block, const char *name)
{
	size_t used = strlen(key), size;
	const char *value = find(block, name, &size);

	if (!value || used + size + 2 > JOB_STEP_KEY_SIZE)
		return false;
	if (used)
		key[used++] = '.';
	for (size_t i = 0; i < size; i++)
		key[used++] = value[i] > ' ' && value[i] < 0x7f ? value[i] : '_';
	key[used] = '\0';
	return true;
}

/* Returns a number of at least min, or JOB_STEP_UNKNOWN. */
static int32_t find_number(const struct block *block, const char *name, long min)
{
	char digits[16];
	size_t size;
	const char *value = name ? find(block, name, &size) : NULL;

	if (!value || size >= sizeof(digits))
		return JOB_STEP_UNKNOWN;
	memcpy(digits, value, size);
	digits[size] = '\0';
	long number = strspn(digits, "0123456789") == size ? strtol(digits, NULL, 10) : -1;
	return number >= min && number <= INT32_MAX ? (int32_t)number : JOB_STEP_UNKNOWN;
}

/* Returns the node's number if each node has ranks_per_node ranks, one after the other, as far as this rank can tell.
 */
static int32_t index_by_ranks(const struct job_identity *identity, int32_t ranks_per_node)
{
	return ranks_per_node > 0 && identity->rank % ranks_per_node == identity->local_rank
		       ? identity->rank / ranks_per_node
		       : JOB_STEP_UNKNOWN;
}

static void read_nodes(const struct block *block, const struct launcher *launcher,
		       const struct job_identity *identity, struct job_step *step)
{
	step->nr_nodes = find_number(block, launcher->nr_nodes, 1);
	step->node_index = find_number(block, launcher->node_index, 0);
	if (launcher->node_index)
		return;
	if (step->nr_nodes > 0 && identity->world_size % step->nr_nodes == 0)
		step->node_index = index_by_ranks(identity, identity->world_size / step->nr_nodes);
	else if (launcher->local_size)
		step->node_index =
			index_by_ranks(identity, find_number(block, launcher->local_size, 1));
}

static void read_key(const struct block *block, const struct job_identity *identity,
		     struct job_step *step)
{
	size_t size;

	for (size_t i = 0; i < sizeof(launchers) / sizeof(*launchers); i++) {
		const struct launcher *launcher = &launchers[i];

		if (!find(block, launcher->witness, &size) ||
		    !append(step->key, block, launcher->parts[0]))
			continue;
		for (size_t part = 1; part < 3 && launcher->parts[part]; part++)
			append(step->key, block, launcher->parts[part]);
		read_nodes(block, launcher, identity, step);
		return;
	}
}

bool job_step_read(const char *environment, size_t size, struct job_step *step)
{
	const struct block block = {environment, size};
	struct job_identity identity;

	*step = (struct job_step){.nr_nodes = JOB_STEP_UNKNOWN, .node_index = JOB_STEP_UNKNOWN};
	job_identity_read(environment, size, &identity);
	if (identity.rank == MESSAGE_RANK_NONE || identity.world_size < 2 ||
	    identity.rank >= identity.world_size)
		return false;
	step->rank = identity.rank;
	step->world_size = identity.world_size;
	snprintf(step->job, sizeof(step->job), "%s", identity.job);
	read_key(&block, &identity, step);
	return true;
}

/* ---- a step that its launcher does not name, on one node */

/* The launcher sets these only in its own ranks: the number of ranks on this node. */
static const char *const local_sizes[] = {"MPI_LOCALNRANKS", "MV2_COMM_WORLD_LOCAL_SIZE"};

static bool has_variable(pid_t pid, const char *name)
{
	struct block block;
	char *text;
	size_t value_size;

	if (proc_file_read(pid, "environ", ENVIRONMENT_MAX, &text, &block.size))
		return false;
	block.text = text;
	bool has = find(&block, name, &value_size) != NULL;
	free(text);
	return has;
}

/* Returns the nearest ancestor that is no rank, past any shells. 0: none is visible. */
static pid_t find_starter(const char *variable)
{
	pid_t pid = getppid();

	while (pid > 1 && has_variable(pid, variable))
		pid = proc_file_parent(pid);
	return pid > 1 ? pid : 0;
}

/* The ranks of one node share the process that started them. Ranks of several nodes do not. */
static void make_up_key(const struct block *block, struct job_step *step)
{
	char host[128] = "";
	pid_t starter = 0;

	for (size_t i = 0; i < sizeof(local_sizes) / sizeof(*local_sizes) && !starter; i++)
		if (find_number(block, local_sizes[i], 1) == step->world_size)
			starter = find_starter(local_sizes[i]);
	if (!starter)
		return;
	gethostname(host, sizeof(host) - 1);
	snprintf(step->key, sizeof(step->key), "%s.%d.%llu", host, (int)starter,
		 (unsigned long long)proc_file_start_ticks(starter));
	step->nr_nodes = 1;
}

bool job_step_read_own(struct job_step *step)
{
	size_t size = 0, used = 0;
	bool result;

	for (char **entry = environ; *entry; entry++)
		size += strlen(*entry) + 1;
	char *block = malloc(size + 1);
	if (!block) {
		*step = (struct job_step){.nr_nodes = JOB_STEP_UNKNOWN,
					  .node_index = JOB_STEP_UNKNOWN};
		return false;
	}
	for (char **entry = environ; *entry; entry++) {
		size_t entry_size = strlen(*entry) + 1;

		memcpy(block + used, *entry, entry_size);
		used += entry_size;
	}
	result = job_step_read(block, used, step);
	if (result && !*step->key)
		make_up_key(&(struct block){block, used}, step);
	free(block);
	return result;
}

uint64_t job_step_hash(uint64_t seed, const char *text)
{
	for (; *text; text++)
		seed = (seed ^ (unsigned char)*text) * 0x100000001b3u;
	return (seed ^ 0xff) * 0x100000001b3u; /* keeps texts in a row apart */
}

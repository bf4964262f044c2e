#include "cli/base/job_step.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* An environment as a launcher makes it: entries with blanks between. */
static bool read_step(const char *entries, struct job_step *step)
{
	char block[2048];
	size_t size = strlen(entries) + 1;

	assert_true(size <= sizeof(block));
	memcpy(block, entries, size);
	for (size_t i = 0; i < size; i++)
		if (block[i] == ' ')
			block[i] = '\0';
	return job_step_read(block, size, step);
}

static const struct {
	const char *launcher, *environment, *key, *job;
	int32_t rank, world_size, nr_nodes, node_index;
} cases[] = {
	{"srun",
	 "SLURM_JOB_ID=4711 SLURM_STEP_ID=2 SLURM_PROCID=5 SLURM_LOCALID=1 SLURM_NTASKS=8 "
	 "SLURM_STEP_NUM_TASKS=8 "
	 "SLURM_STEP_NUM_NODES=4 SLURM_NNODES=6 SLURM_NODEID=0",
	 "4711.2", "4711", 5, 8, 4, 0},
	{"srun in a job that was requeued",
	 "SLURM_JOB_ID=4711 SLURM_STEP_ID=0 SLURM_RESTART_COUNT=2 SLURM_PROCID=0 SLURM_LOCALID=0 "
	 "SLURM_STEP_NUM_TASKS=2 SLURM_STEP_NUM_NODES=2",
	 "4711.0.2", "4711", 0, 2, 2, JOB_STEP_UNKNOWN},
	{"srun with PMIx",
	 "SLURM_JOB_ID=4711 SLURM_STEP_ID=2 SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_STEP_NUM_TASKS=2 "
	 "SLURM_STEP_NUM_NODES=2 PMIX_RANK=0 PMIX_NAMESPACE=slurm.pmix.4711.2",
	 "4711.2", "4711", 0, 2, 2, JOB_STEP_UNKNOWN},
	{"Open MPI 4",
	 "OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_SIZE=4 "
	 "PMIX_NAMESPACE=1183842305",
	 "1183842305", "", 3, 4, JOB_STEP_UNKNOWN, JOB_STEP_UNKNOWN},
	{"Open MPI 5 within an allocation of Slurm",
	 "SLURM_JOB_ID=9 SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_STEP_NUM_NODES=2 "
	 "OMPI_COMM_WORLD_RANK=6 "
	 "OMPI_COMM_WORLD_LOCAL_RANK=2 OMPI_COMM_WORLD_SIZE=8 PMIX_NAMESPACE=prterun-node1-77@1",
	 "prterun-node1-77@1", "9", 6, 8, JOB_STEP_UNKNOWN, JOB_STEP_UNKNOWN},
	{"MPICH", "PMI_RANK=1 PMI_SIZE=2 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=2 PMI_FD=9", "", "", 1,
	 2, JOB_STEP_UNKNOWN, JOB_STEP_UNKNOWN},
	{"MPICH with a port",
	 "PMI_RANK=1 PMI_SIZE=2 PMI_PORT=node1:4000 PMI_ID=1 MPI_LOCALRANKID=1", "", "", 1, 2,
	 JOB_STEP_UNKNOWN, JOB_STEP_UNKNOWN},
	{"Flux",
	 "FLUX_TASK_RANK=1 FLUX_TASK_LOCAL_ID=1 FLUX_JOB_SIZE=2 FLUX_JOB_ID=f7xQ FLUX_JOB_NNODES=2",
	 "f7xQ", "f7xQ", 1, 2, 2, JOB_STEP_UNKNOWN},
	{"Flux, with ranks in blocks",
	 "FLUX_TASK_RANK=5 FLUX_TASK_LOCAL_ID=1 FLUX_JOB_SIZE=8 FLUX_JOB_ID=f7xQ FLUX_JOB_NNODES=2",
	 "f7xQ", "f7xQ", 5, 8, 2, 1},
	{"Flux, with as many ranks a node, but in turns",
	 "FLUX_TASK_RANK=5 FLUX_TASK_LOCAL_ID=2 FLUX_JOB_SIZE=8 FLUX_JOB_ID=f7xQ FLUX_JOB_NNODES=2",
	 "f7xQ", "f7xQ", 5, 8, 2, JOB_STEP_UNKNOWN},
	{"Flux, with other numbers of ranks",
	 "FLUX_TASK_RANK=4 FLUX_TASK_LOCAL_ID=0 FLUX_JOB_SIZE=5 FLUX_JOB_ID=f7xQ FLUX_JOB_NNODES=2",
	 "f7xQ", "f7xQ", 4, 5, 2, JOB_STEP_UNKNOWN},
	{"Open MPI with several nodes",
	 "OMPI_COMM_WORLD_RANK=13 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_SIZE=16 "
	 "OMPI_COMM_WORLD_LOCAL_SIZE=4 PMIX_NAMESPACE=x",
	 "x", "", 13, 16, JOB_STEP_UNKNOWN, 3},
	{"Open MPI by node",
	 "OMPI_COMM_WORLD_RANK=13 OMPI_COMM_WORLD_LOCAL_RANK=3 OMPI_COMM_WORLD_SIZE=16 "
	 "OMPI_COMM_WORLD_LOCAL_SIZE=4 PMIX_NAMESPACE=x",
	 "x", "", 13, 16, JOB_STEP_UNKNOWN, JOB_STEP_UNKNOWN},
	{"MPICH with a port and several nodes",
	 "PMI_RANK=3 PMI_SIZE=4 PMI_PORT=node1:4000 PMI_ID=3 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=2",
	 "", "", 3, 4, JOB_STEP_UNKNOWN, JOB_STEP_UNKNOWN},
	{"PALS with a node",
	 "PALS_RANKID=1 PALS_LOCAL_RANKID=0 PALS_SIZE=4 PALS_NODEID=1 PALS_APID=1234-55", "1234-55",
	 "", 1, 4, JOB_STEP_UNKNOWN, 1},
	{"PALS", "PALS_RANKID=1 PALS_LOCAL_RANKID=0 PALS_SIZE=4 PALS_APID=1234-55 PBS_JOBID=88",
	 "1234-55", "88", 1, 4, JOB_STEP_UNKNOWN, JOB_STEP_UNKNOWN},
	{"a worker of torchrun",
	 "TORCHELASTIC_RUN_ID=none MASTER_ADDR=node1 MASTER_PORT=40111 RANK=9 LOCAL_RANK=1 "
	 "GROUP_RANK=1 WORLD_SIZE=16 "
	 "LOCAL_WORLD_SIZE=8 GROUP_WORLD_SIZE=2 TORCHELASTIC_RESTART_COUNT=0",
	 "none.node1.40111", "", 9, 16, 2, 1},
	{"a worker of torchrun within a step of Slurm",
	 "SLURM_JOB_ID=5 SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_LOCALID=0 SLURM_STEP_NUM_TASKS=2 "
	 "SLURM_STEP_NUM_NODES=3 "
	 "TORCHELASTIC_RUN_ID=mine MASTER_ADDR=fe80::1 MASTER_PORT=29500 RANK=3 LOCAL_RANK=1 "
	 "WORLD_SIZE=4 GROUP_WORLD_SIZE=2",
	 "mine.fe80::1.29500", "5", 3, 4, 2, JOB_STEP_UNKNOWN},
	{"a worker of torchrun that tells no address",
	 "TORCHELASTIC_RUN_ID=mine RANK=0 WORLD_SIZE=2", "mine", "mine", 0, 2, JOB_STEP_UNKNOWN,
	 JOB_STEP_UNKNOWN},
	{"torchrun in each task of srun",
	 "SLURM_JOB_ID=5 SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_LOCALID=0 SLURM_STEP_NUM_TASKS=2 "
	 "SLURM_STEP_NUM_NODES=2",
	 "5.0", "5", 1, 2, 2, JOB_STEP_UNKNOWN},
};

static void each_launcher_names_its_step(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct job_step step;

		print_message("%s\n", cases[i].launcher);
		assert_true(read_step(cases[i].environment, &step));
		assert_string_equal(step.key, cases[i].key);
		assert_string_equal(step.job, cases[i].job);
		assert_int_equal(step.rank, cases[i].rank);
		assert_int_equal(step.world_size, cases[i].world_size);
		assert_int_equal(step.nr_nodes, cases[i].nr_nodes);
		assert_int_equal(step.node_index, cases[i].node_index);
		assert_int_equal(step.block, 0);
	}
}

static void all_ranks_of_a_step_have_one_key_and_other_steps_another(void **state)
{
	struct job_step a, b, other;

	(void)state;
	/* Two proxies of one mpirun by MPICH. */
	assert_true(read_step("PMI_RANK=0 PMI_SIZE=2 PMI_PORT=n:1 PMI_ID=0", &a));
	assert_true(read_step("PMI_RANK=1 PMI_SIZE=2 PMI_PORT=m:2 PMI_ID=1", &b));
	assert_string_equal(a.key, b.key);
	assert_true(read_step(
		"SLURM_JOB_ID=4711 SLURM_STEP_ID=3 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2", &a));
	assert_true(read_step(
		"SLURM_JOB_ID=4711 SLURM_STEP_ID=4 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2", &other));
	assert_string_not_equal(a.key, other.key);

	/* Two jobs of torchrun's that nobody gave an id. */
	assert_true(read_step("TORCHELASTIC_RUN_ID=none MASTER_ADDR=n MASTER_PORT=4000 RANK=0 "
			      "GROUP_RANK=0 WORLD_SIZE=2",
			      &a));
	assert_true(read_step("TORCHELASTIC_RUN_ID=none MASTER_ADDR=n MASTER_PORT=4000 RANK=1 "
			      "GROUP_RANK=1 WORLD_SIZE=2",
			      &b));
	assert_string_equal(a.key, b.key);
	assert_true(read_step("TORCHELASTIC_RUN_ID=none MASTER_ADDR=n MASTER_PORT=4001 RANK=0 "
			      "GROUP_RANK=0 WORLD_SIZE=2",
			      &other));
	assert_string_not_equal(a.key, other.key);
}

static void one_process_alone_is_in_no_step(void **state)
{
	static const char *const alone[] = {
		"",
		"HOME=/root",
		"SLURM_JOB_ID=4711 SLURM_PROCID=0 SLURM_NTASKS=1 SLURM_STEP_ID=0",
		"OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 PMIX_NAMESPACE=x",
		"RANK=0 WORLD_SIZE=many LOCAL_RANK=0",
		"OMPI_COMM_WORLD_RANK=4 OMPI_COMM_WORLD_SIZE=4 PMIX_NAMESPACE=x", /* no such rank */
		"OMPI_COMM_WORLD_RANK=-1 OMPI_COMM_WORLD_SIZE=4",
	};
	struct job_step step;

	(void)state;
	for (size_t i = 0; i < sizeof(alone) / sizeof(*alone); i++) {
		assert_false(read_step(alone[i], &step));
		assert_string_equal(step.key, "");
	}
}

static void a_key_that_is_too_long_or_has_blanks_does_no_harm(void **state)
{
	char block[1024] = "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 PMIX_NAMESPACE=";
	struct job_step step;

	(void)state;
	memset(block + strlen(block), 'x', 400);
	assert_true(read_step(block, &step));
	assert_string_equal(step.key, "");

	const char odd[] =
		"OMPI_COMM_WORLD_RANK=0\0OMPI_COMM_WORLD_SIZE=2\0PMIX_NAMESPACE=a b\n\xc3";
	assert_true(job_step_read(odd, sizeof(odd), &step));
	assert_string_equal(step.key, "a_b__");
}

/* As Hydra starts them, without a name. This program's parent is no rank. */
static void ranks_that_are_all_on_one_node_are_known_by_who_started_them(void **state)
{
	char pid[32];
	struct job_step step, second;

	(void)state;
	clearenv();
	setenv("PMI_RANK", "0", 1);
	setenv("PMI_SIZE", "2", 1);
	assert_true(job_step_read_own(&step));
	assert_string_equal(step.key, "");
	assert_int_equal(step.nr_nodes, JOB_STEP_UNKNOWN);
	setenv("MPI_LOCALNRANKS", "1", 1); /* the other is elsewhere */
	assert_true(job_step_read_own(&step));
	assert_string_equal(step.key, "");

	setenv("MPI_LOCALNRANKS", "2", 1);
	assert_true(job_step_read_own(&step));
	snprintf(pid, sizeof(pid), ".%d.", (int)getppid());
	assert_non_null(strstr(step.key, pid));
	assert_int_equal(step.nr_nodes, 1);
	setenv("PMI_RANK", "1", 1);
	assert_true(job_step_read_own(&second));
	assert_string_equal(second.key, step.key);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_launcher_names_its_step),
		cmocka_unit_test(all_ranks_of_a_step_have_one_key_and_other_steps_another),
		cmocka_unit_test(one_process_alone_is_in_no_step),
		cmocka_unit_test(a_key_that_is_too_long_or_has_blanks_does_no_harm),
		cmocka_unit_test(ranks_that_are_all_on_one_node_are_known_by_who_started_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

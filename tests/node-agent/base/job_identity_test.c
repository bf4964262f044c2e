#include "tests/support/cmocka_test.h"

#include <string.h>

#include "node-agent/base/job_identity.h"

/* A string literal with \0 between its entries. */
#define READ(identity, block) job_identity_read(block, sizeof(block), identity)

static void an_empty_environment_has_no_rank_and_no_job(void **state)
{
	struct job_identity identity;

	(void)state;
	job_identity_read("", 0, &identity);
	assert_int_equal(identity.rank, MESSAGE_RANK_NONE);
	assert_int_equal(identity.local_rank, MESSAGE_RANK_NONE);
	assert_int_equal(identity.world_size, MESSAGE_RANK_NONE);
	assert_string_equal(identity.job, "");
}

static void each_launcher_is_known(void **state)
{
	static const struct {
		const char *name, *block;
		size_t size;
		int32_t rank, local_rank, world_size;
	} cases[] = {
#define CASE(name, block, rank, local, world) {name, block, sizeof(block), rank, local, world}
		CASE("old slurm",
		     "SLURM_PROCID=5\0SLURM_LOCALID=1\0SLURM_NTASKS=8\0SLURM_STEP_ID=0", 5, 1, 8),
		CASE("slurm's batch script", "SLURM_PROCID=0\0SLURM_LOCALID=0\0SLURM_NTASKS=8", 0,
		     0, MESSAGE_RANK_NONE),
		CASE("slurm step",
		     "SLURM_PROCID=5\0SLURM_LOCALID=1\0SLURM_NTASKS=64\0SLURM_STEP_NUM_TASKS=8", 5,
		     1, 8),
		CASE("open mpi",
		     "OMPI_COMM_WORLD_RANK=3\0OMPI_COMM_WORLD_LOCAL_RANK=3\0OMPI_COMM_WORLD_SIZE=4",
		     3, 3, 4),
		CASE("mvapich",
		     "MV2_COMM_WORLD_RANK=3\0MV2_COMM_WORLD_LOCAL_RANK=0\0MV2_COMM_WORLD_SIZE=4", 3,
		     0, 4),
		CASE("mpich", "PMI_RANK=2\0MPI_LOCALRANKID=2\0PMI_SIZE=16", 2, 2, 16),
		CASE("pmix", "PMIX_RANK=7", 7, MESSAGE_RANK_NONE, MESSAGE_RANK_NONE),
		CASE("flux", "FLUX_TASK_RANK=1\0FLUX_TASK_LOCAL_ID=1\0FLUX_JOB_SIZE=2", 1, 1, 2),
		CASE("pals", "PALS_RANKID=9\0PALS_LOCAL_RANKID=1", 9, 1, MESSAGE_RANK_NONE),
		CASE("torchrun", "RANK=6\0LOCAL_RANK=2\0WORLD_SIZE=8", 6, 2, 8),
		CASE("rank alone", "RANK=6\0WORLD_SIZE=8", 6, MESSAGE_RANK_NONE, 8),
#undef CASE
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct job_identity identity;

		job_identity_read(cases[i].block, cases[i].size, &identity);
		if (identity.rank != cases[i].rank || identity.local_rank != cases[i].local_rank ||
		    identity.world_size != cases[i].world_size)
			fail_msg("%s: rank %d, local %d, world %d", cases[i].name, identity.rank,
				 identity.local_rank, identity.world_size);
	}
}

static void torchrun_wins_over_the_launcher_around_it(void **state)
{
	struct job_identity identity;

	(void)state;
	READ(&identity, "SLURM_PROCID=1\0SLURM_LOCALID=0\0SLURM_NTASKS=2\0"
			"OMPI_COMM_WORLD_RANK=1\0OMPI_COMM_WORLD_SIZE=2\0"
			"RANK=11\0LOCAL_RANK=3\0WORLD_SIZE=16\0SLURM_JOB_ID=77");
	assert_int_equal(identity.rank, 11);
	assert_int_equal(identity.local_rank, 3);
	assert_int_equal(identity.world_size, 16);
	assert_string_equal(identity.job, "77");
}

static void a_lone_rank_gives_way_to_any_launcher(void **state)
{
	struct job_identity identity;

	(void)state;
	READ(&identity, "RANK=9\0SLURM_PROCID=1\0SLURM_STEP_NUM_TASKS=2");
	assert_int_equal(identity.rank, 1);
	assert_int_equal(identity.world_size, 2);
}

static void an_outer_launcher_completes_the_same_rank_only(void **state)
{
	struct job_identity identity;

	(void)state;
	READ(&identity, "PMIX_RANK=3\0SLURM_PROCID=3\0SLURM_LOCALID=1\0SLURM_STEP_NUM_TASKS=4");
	assert_int_equal(identity.rank, 3);
	assert_int_equal(identity.local_rank, 1);
	assert_int_equal(identity.world_size, 4);
	READ(&identity, "PMIX_RANK=3\0SLURM_PROCID=0\0SLURM_LOCALID=0\0SLURM_NTASKS=1");
	assert_int_equal(identity.rank, 3);
	assert_int_equal(identity.local_rank, MESSAGE_RANK_NONE);
	assert_int_equal(identity.world_size, MESSAGE_RANK_NONE);
}

static void nonsense_is_not_a_number(void **state)
{
	struct job_identity identity;

	(void)state;
	READ(&identity, "OMPI_COMM_WORLD_RANK=\0PMI_RANK=-1\0PMIX_RANK=3x\0"
			"SLURM_PROCID=99999999999999999999\0XSLURM_PROCID=1\0SLURM_PROCIDX=1");
	assert_int_equal(identity.rank, MESSAGE_RANK_NONE);
}

static void the_first_of_equal_names_counts_and_the_last_needs_no_terminator(void **state)
{
	const char block[] = "SLURM_PROCID=4\0SLURM_PROCID=5\0SLURM_LOCALID=17";
	struct job_identity identity;

	(void)state;
	job_identity_read(block, sizeof(block) - 2, &identity);
	assert_int_equal(identity.rank, 4);
	assert_int_equal(identity.local_rank, 1);
}

static void a_scheduler_names_the_job_before_torchrun_does(void **state)
{
	struct job_identity identity;

	(void)state;
	READ(&identity, "TORCHELASTIC_RUN_ID=mine\0PBS_JOBID=12.server");
	assert_string_equal(identity.job, "12.server");
	READ(&identity, "TORCHELASTIC_RUN_ID=mine");
	assert_string_equal(identity.job, "mine");
	READ(&identity, "TORCHELASTIC_RUN_ID=none");
	assert_string_equal(identity.job, "");
}

static void each_mpirun_has_a_name_if_its_launcher_tells(void **state)
{
	struct job_identity identity;

	(void)state;
	READ(&identity, "SLURM_JOB_ID=77\0SLURM_STEP_ID=0\0PMIX_NAMESPACE=prterun-n1-42@1\0"
			"OMPI_COMM_WORLD_RANK=1");
	assert_string_equal(identity.job, "77");
	assert_string_equal(identity.run, "prterun-n1-42@1");
	READ(&identity, "PMI_PORT=n1:33 \0PMI_RANK=0\0SLURM_JOB_ID=77");
	assert_string_equal(identity.run, "");
	READ(&identity, "PALS_RANKID=0\0PALS_APID=ab-1\0PBS_JOBID=5.host");
	assert_string_equal(identity.run, "ab-1");
	READ(&identity, "PMIX_NAMESPACE=prterun-n1-42@1\0OMPI_COMM_WORLD_RANK=1");
	assert_string_equal(identity.job, "");
	assert_string_equal(identity.run, "prterun-n1-42@1");
	READ(&identity, "PMI_PORT=n1:33\0PMI_RANK=0\0MPI_LOCALRANKID=0");
	assert_string_equal(identity.run, "");
	READ(&identity, "PALS_RANKID=0\0PALS_APID=a b");
	assert_string_equal(identity.run, "a_b");
	/* Slurm's own steps have numbers. */
	READ(&identity, "SLURM_JOB_ID=77\0SLURM_STEP_ID=3\0PMIX_NAMESPACE=slurm.pmix.77.3");
	assert_string_equal(identity.run, "");
	assert_int_equal(identity.step, 3);
}

static void slurm_numbers_the_steps_that_it_starts_itself(void **state)
{
	struct job_identity identity;

	(void)state;
	READ(&identity, "SLURM_JOB_ID=77\0SLURM_STEP_ID=3\0SLURM_PROCID=0\0SLURM_NTASKS=2");
	assert_string_equal(identity.job, "77");
	assert_int_equal(identity.step, 3);
	READ(&identity, "SLURM_JOB_ID=77\0SLURM_STEP_ID=3\0RANK=1\0LOCAL_RANK=1\0WORLD_SIZE=2");
	assert_int_equal(identity.step, 3);
	READ(&identity, "SLURM_JOB_ID=77\0SLURM_PROCID=0");
	assert_int_equal(identity.step, MESSAGE_RANK_NONE);
	READ(&identity, "SLURM_JOB_ID=77\0SLURM_STEP_ID=0\0OMPI_COMM_WORLD_RANK=1");
	assert_int_equal(identity.step, MESSAGE_RANK_NONE);
	assert_string_equal(identity.run, "");
}

static void a_long_job_id_is_cut(void **state)
{
	char block[512] = "SLURM_JOB_ID=";
	struct job_identity identity;

	(void)state;
	memset(block + 13, '7', sizeof(block) - 14);
	job_identity_read(block, sizeof(block), &identity);
	assert_int_equal(strlen(identity.job), JOB_IDENTITY_JOB_MAX - 1);
}

static void slurm_tells_the_switch_above_a_node(void **state)
{
	struct job_identity identity;

	(void)state;
	READ(&identity, "SLURM_TOPOLOGY_ADDR=s0.s3.node17\0"
			"SLURM_TOPOLOGY_ADDR_PATTERN=switch.switch.node");
	assert_string_equal(identity.network_switch, "switch s3");
	READ(&identity, "SLURM_TOPOLOGY_ADDR=b1.node17.cluster.example\0"
			"SLURM_TOPOLOGY_ADDR_PATTERN=block.node");
	assert_string_equal(identity.network_switch, "block b1");
}

static void an_address_that_fits_no_pattern_is_no_switch(void **state)
{
	static const struct {
		const char *block;
		size_t size;
	} blocks[] = {
#define BLOCK(text) {text, sizeof(text)}
		BLOCK("SLURM_TOPOLOGY_ADDR=node17\0SLURM_TOPOLOGY_ADDR_PATTERN=node"),
		BLOCK("SLURM_TOPOLOGY_ADDR=s0.node17"),
		BLOCK("SLURM_TOPOLOGY_ADDR_PATTERN=switch.node"),
		BLOCK("SLURM_TOPOLOGY_ADDR=s0\0SLURM_TOPOLOGY_ADDR_PATTERN=switch.node"),
		BLOCK("SLURM_TOPOLOGY_ADDR=.node17\0SLURM_TOPOLOGY_ADDR_PATTERN=switch.node"),
		BLOCK("SLURM_TOPOLOGY_ADDR=s\n.node17\0SLURM_TOPOLOGY_ADDR_PATTERN=switch.node"),
		BLOCK("SLURM_TOPOLOGY_ADDR=s0.node17\0SLURM_TOPOLOGY_ADDR_PATTERN=switch.switch"),
		BLOCK("SLURM_TOPOLOGY_ADDR=s0.node17\0SLURM_TOPOLOGY_ADDR_PATTERN=.node"),
		BLOCK("SLURM_TOPOLOGY_ADDR=\0SLURM_TOPOLOGY_ADDR_PATTERN="),
#undef BLOCK
	};
	char block[512] = "SLURM_TOPOLOGY_ADDR_PATTERN=switch.node\0SLURM_TOPOLOGY_ADDR=";
	struct job_identity identity;

	(void)state;
	for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++) {
		job_identity_read(blocks[i].block, blocks[i].size, &identity);
		assert_string_equal(identity.network_switch, "");
	}
	memset(block + 60, '7', 200); /* a name that is too long */
	memcpy(block + 260, ".node17", 8);
	job_identity_read(block, sizeof(block), &identity);
	assert_string_equal(identity.network_switch, "");
}

static void a_run_says_whether_it_samples_kernels(void **state)
{
	static const struct {
		const char *block;
		bool samples;
	} blocks[] = {
		{"FLAMEGRID_RECORD=stalls", true},
		{"FLAMEGRID_RECORD=sync,stalls,um", true},
		{"FLAMEGRID_SAMPLE_GPU=100/s", true},
		{"FLAMEGRID_RECORD=all", false},
		{"FLAMEGRID_RECORD=", false},
		{"FLAMEGRID_RECORD=stalls,", false}, /* as a guest reads it */
		{"FLAMEGRID_SAMPLE_GPU=0", false},
		{"FLAMEGRID_RECORDS=stalls", false},
		/* longer than any list */
		{"FLAMEGRID_RECORD=stalls,stalls,stalls,stalls,stalls,stalls,stalls,stalls,stalls,"
		 "stalls",
		 false},
	};
	struct job_identity identity;

	(void)state;
	for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++) {
		job_identity_read(blocks[i].block, strlen(blocks[i].block), &identity);
		if (identity.samples_kernels != blocks[i].samples)
			fail_msg("%s", blocks[i].block);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_environment_has_no_rank_and_no_job),
		cmocka_unit_test(each_launcher_is_known),
		cmocka_unit_test(torchrun_wins_over_the_launcher_around_it),
		cmocka_unit_test(a_lone_rank_gives_way_to_any_launcher),
		cmocka_unit_test(an_outer_launcher_completes_the_same_rank_only),
		cmocka_unit_test(nonsense_is_not_a_number),
		cmocka_unit_test(the_first_of_equal_names_counts_and_the_last_needs_no_terminator),
		cmocka_unit_test(a_scheduler_names_the_job_before_torchrun_does),
		cmocka_unit_test(each_mpirun_has_a_name_if_its_launcher_tells),
		cmocka_unit_test(slurm_numbers_the_steps_that_it_starts_itself),
		cmocka_unit_test(a_long_job_id_is_cut),
		cmocka_unit_test(slurm_tells_the_switch_above_a_node),
		cmocka_unit_test(an_address_that_fits_no_pattern_is_no_switch),
		cmocka_unit_test(a_run_says_whether_it_samples_kernels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

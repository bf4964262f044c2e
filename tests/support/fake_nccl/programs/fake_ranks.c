/* A job of several ranks on fake NCCL, each a process with a device of its own, as torchrun starts them:
 *
 *   --ranks N          processes (2); each has RANK, LOCAL_RANK, WORLD_SIZE and LOCAL_WORLD_SIZE in its environment
 *   --steps N          steps (10): a kernel that computes (50 µs), then an all_reduce of all ranks, then the host waits
 *   --gpu US-US        the computing kernel of each rank lasts so long, at least and at most
 *   --late-host R:US   rank R's host sleeps so long before it calls, in each step
 *   --late-gpu R:US    rank R's computing kernel lasts so long; R-S: those of ranks R to S, and up to a twentieth longer
 *   --late-while FILE  only while the file is there
 *   --load US          each rank waits so long for its data, in each step (0)
 *   --more-load R:PERCENT   rank R so much longer
 *   --work US          each rank's host works so long, in each step (0), about an eighth of it on the CPU, so that eight ranks fit on a processor
 *   --more-work R:PERCENT   rank R so much longer
 *   --pipeline N       the ranks are stages: in each step N micro-batches pass through them and back, with a kernel each time
 *   --experts          an all_to_all stands before and behind the computing kernel
 *   --ahead            the host waits for the last step alone
 *   --mark             steps are marked
 *   --mix              after the steps: groups, all functions, split communicators, sends and receives, a captured all_reduce
 *   --threads          ranks are threads of one process
 *   --here FIRST:COUNT only these of the ranks, with this host's first devices: others are started elsewhere
 *   --job NAME         by which ranks of one job that are started apart find one another
 *   --wait FILE        each rank ends when the file is there
 *   --until FILE       steps end when the file is there, after as many steps as all ranks have done; not with --ahead
 *
 * Ends with the largest status of its ranks. Functions have the names that stacks show; frame pointers keep them exact. */
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cuda_runtime_api.h>
#include <flamegrid.h>
#include <nccl.h>

#include "fake_cuda.h"

#define NOINLINE      __attribute__((noinline, noclone))
#define RANK_VARIABLE "FAKE_RANKS_RANK"
#define ID_VARIABLE   "FAKE_RANKS_ID"
#define RANKS_MAX     64
#define UNTIL_AHEAD   4
/* In each round of work there is a burst, anywhere in its first half, so that ranks do not all want the CPU at once. */
#define ROUND_NS    4000000u
#define BURST_NS    480000u
#define BURST_TURNS 10000u /* some 20 us between two looks at the clock, which are system calls */

FAKE_CUDA_KERNEL(fake_compute, FAKE_CUDA_FIXED_NS(50000));

struct lateness {
	int rank, last;  /* the ranks from one to the other */
	unsigned int us; /* or percent */
};

static struct {
	int ranks, steps, micro_batches;
	struct lateness host, gpu, load, work;
	unsigned int load_us, work_us, gpu_us, gpu_most_us;
	int first, count; /* of ranks here; count 0: all */
	bool ahead, mark, mix, threads, experts;
	const char *wait, *job, *until, *late_while;
} options = {.ranks = 2,
	     .steps = 10,
	     .gpu_us = 50,
	     .gpu_most_us = 50,
	     .host = {-1, -1, 0},
	     .gpu = {-1, -1, 0},
	     .load = {-1, -1, 0},
	     .work = {-1, -1, 0}};

static volatile uint64_t sink;

static void require(int error, const char *what)
{
	if (error == 0)
		return;
	fprintf(stderr, "fake_ranks: %s: error %d\n", what, error);
	exit(2);
}

#define REQUIRE(call) require((int)(call), #call)

/* ---- a rank */

static NOINLINE void rank_compute(cudaStream_t stream)
{
	REQUIRE(cudaLaunchKernel(fake_compute, (dim3){1, 1, 1}, (dim3){32, 1, 1}, NULL, 0, stream));
	sink++;
}

static NOINLINE void rank_reduce(ncclComm_t comm, cudaStream_t stream, size_t count)
{
	REQUIRE(ncclAllReduce(NULL, NULL, count, ncclFloat32, ncclSum, comm, stream));
	sink++;
}

/* peer beyond the first or the last rank: there is none. */
static NOINLINE void rank_send(ncclComm_t comm, cudaStream_t stream, int peer)
{
	if (peer >= 0 && peer < options.ranks)
		REQUIRE(ncclSend(NULL, 1000, ncclFloat32, peer, comm, stream));
	sink++;
}

static NOINLINE void rank_receive(ncclComm_t comm, cudaStream_t stream, int peer)
{
	if (peer >= 0 && peer < options.ranks)
		REQUIRE(ncclRecv(NULL, 1000, ncclFloat32, peer, comm, stream));
	sink++;
}

static NOINLINE void rank_exchange_all(ncclComm_t comm, cudaStream_t stream)
{
	if (options.experts)
		REQUIRE(ncclAlltoAll(NULL, NULL, 1000, ncclFloat32, comm, stream));
	sink++;
}

/* All micro-batches go forward, then all of them go back. */
static NOINLINE void rank_pipeline(ncclComm_t comm, cudaStream_t stream, int rank)
{
	for (int i = 0; i < 2 * options.micro_batches; i++) {
		const int way = i < options.micro_batches ? 1 : -1;

		rank_receive(comm, stream, rank - way);
		rank_compute(stream);
		rank_send(comm, stream, rank + way);
	}
	sink++;
}

static bool is_late(const struct lateness *lateness, int rank)
{
	return rank >= lateness->rank && rank <= lateness->last &&
	       (!options.late_while || access(options.late_while, F_OK) == 0);
}

static unsigned int with_more(unsigned int us, const struct lateness *more, int rank)
{
	return rank == more->rank ? us + us * more->us / 100 : us;
}

static uint64_t read_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void sleep_until(uint64_t end_ns)
{
	uint64_t now_ns = read_clock(CLOCK_MONOTONIC);

	if (now_ns < end_ns)
		nanosleep(&(struct timespec){.tv_sec = (time_t)((end_ns - now_ns) / 1000000000u),
					     .tv_nsec = (long)((end_ns - now_ns) % 1000000000u)},
			  NULL);
}

static NOINLINE void rank_load(unsigned int us)
{
	if (us)
		ppoll(NULL, 0, &(struct timespec){us / 1000000, us % 1000000 * 1000}, NULL);
	sink++;
}

/* Until the thread has used so much of the CPU, or the clock has come to end_ns as others have the processor. */
static void work_until(uint64_t used_ns, uint64_t end_ns)
{
	while (read_clock(CLOCK_THREAD_CPUTIME_ID) < used_ns &&
	       read_clock(CLOCK_MONOTONIC) < end_ns)
		for (unsigned int i = 0; i < BURST_TURNS; i++)
			sink += i;
}

/* By the CPU's time within bursts, by the clock on the whole: ranks that share processors work equally long.
 * What is missing of a burst at its round's end is made up for in the next rounds. */
static NOINLINE void rank_work(unsigned int us, unsigned int *random)
{
	uint64_t begin_ns = read_clock(CLOCK_MONOTONIC), end_ns = begin_ns + 1000ull * us;
	uint64_t used_ns = read_clock(CLOCK_THREAD_CPUTIME_ID);

	for (; begin_ns + ROUND_NS <= end_ns; begin_ns += ROUND_NS) {
		sleep_until(begin_ns + (unsigned int)rand_r(random) % (ROUND_NS / 2));
		used_ns += BURST_NS;
		work_until(used_ns, begin_ns + ROUND_NS);
	}
	sleep_until(end_ns);
	sink++;
}

static NOINLINE void rank_step(ncclComm_t comm, cudaStream_t stream, int rank, unsigned int *random)
{
	rank_load(with_more(options.load_us, &options.load, rank));
	if (options.work_us)
		rank_work(with_more(options.work_us, &options.work, rank), random);
	rank_exchange_all(comm, stream);
	if (options.micro_batches)
		rank_pipeline(comm, stream, rank);
	else
		rank_compute(stream);
	rank_exchange_all(comm, stream);
	if (is_late(&options.host, rank))
		usleep(options.host.us);
	rank_reduce(comm, stream, 1000);
	if (!options.ahead)
		REQUIRE(cudaStreamSynchronize(stream));
	sink++;
}

/* Called in another order than that of their bytes, which is NCCL's. */
static NOINLINE void rank_group(ncclComm_t comm, cudaStream_t stream)
{
	REQUIRE(ncclGroupStart());
	rank_reduce(comm, stream, 10);
	rank_reduce(comm, stream, 1000000);
	REQUIRE(ncclAllGather(NULL, NULL, 100, ncclFloat16, comm, stream));
	REQUIRE(ncclGroupEnd());
	sink++;
}

static NOINLINE void rank_functions(ncclComm_t comm, cudaStream_t stream)
{
	REQUIRE(ncclBroadcast(NULL, NULL, 10, ncclInt32, 1, comm, stream));
	REQUIRE(ncclReduce(NULL, NULL, 12, ncclInt32, ncclMax, 0, comm, stream));
	REQUIRE(ncclReduceScatter(NULL, NULL, 14, ncclBfloat16, ncclAvg, comm, stream));
	REQUIRE(ncclAlltoAll(NULL, NULL, 15, ncclUint64, comm, stream));
	sink++;
}

static NOINLINE void rank_exchange(ncclComm_t comm, cudaStream_t stream, int rank)
{
	REQUIRE(ncclGroupStart());
	REQUIRE(ncclSend(NULL, 20, ncclFloat32, (rank + 1) % options.ranks, comm, stream));
	REQUIRE(ncclRecv(NULL, 20, ncclFloat32, (rank + options.ranks - 1) % options.ranks, comm,
			 stream));
	REQUIRE(ncclGroupEnd());
	sink++;
}

static NOINLINE void rank_split(ncclComm_t comm, cudaStream_t stream, int rank)
{
	ncclComm_t half;

	REQUIRE(ncclCommSplit(comm, rank / 2, rank, &half, NULL));
	rank_reduce(half, stream, 30);
	REQUIRE(ncclCommDestroy(half));
}

/* Called once and run twice; what a plugin hears of it is what it hears at the capture. */
static NOINLINE void rank_capture(ncclComm_t comm, cudaStream_t stream)
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
	rank_reduce(comm, stream, 40);
	REQUIRE(cudaStreamEndCapture(stream, &graph));
	REQUIRE(cudaGraphInstantiate(&exec, graph, 0));
	REQUIRE(cudaGraphLaunch(exec, stream));
	REQUIRE(cudaGraphLaunch(exec, stream));
	REQUIRE(cudaStreamSynchronize(stream));
	REQUIRE(cudaGraphExecDestroy(exec));
	REQUIRE(cudaGraphDestroy(graph));
}

/* Returns the number of steps. The first rank that sees the file chooses it, in a file beside it. Ranks that wait for one
 * another in each step are less than UNTIL_AHEAD steps apart, so each reads it in time. */
static int last_step(int step)
{
	char path[4096], text[16] = "";
	int fd;

	if (!options.until || access(options.until, F_OK) < 0)
		return options.steps;
	snprintf(path, sizeof(path), "%s.step", options.until);
	snprintf(text, sizeof(text), "%15d", step + UNTIL_AHEAD);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd >= 0) {
		require(write(fd, text, sizeof(text)) != sizeof(text), "write");
		close(fd);
	}
	fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof(text)) != sizeof(text)) /* it is being written */
		snprintf(text, sizeof(text), "%d", options.steps);
	if (fd >= 0)
		close(fd);
	return atoi(text);
}

static void set_kernel(int rank, bool *late)
{
	unsigned int least_us = options.gpu_us, most_us = options.gpu_most_us;

	*late = is_late(&options.gpu, rank);
	if (*late) {
		least_us = options.gpu.us;
		most_us = least_us + (most_us - options.gpu_us);
		if (options.gpu.rank != options.gpu.last)
			most_us += least_us / 20;
	}
	fake_cuda_set_kernel_ns("fake_compute", 1000ull * least_us, 1000ull * most_us);
}

static int be_rank(int rank, const char *id)
{
	ncclUniqueId unique;
	ncclComm_t comm;
	cudaStream_t stream;
	unsigned int random = (unsigned int)rank;
	bool late_gpu;

	memset(&unique, 0, sizeof(unique));
	strncpy(unique.internal, id, sizeof(unique.internal) - 1);
	REQUIRE(cudaSetDevice(rank - options.first));
	REQUIRE(cudaStreamCreate(&stream));
	set_kernel(rank, &late_gpu);
	REQUIRE(ncclCommInitRank(&comm, options.ranks, unique, rank));
	for (int i = 0; i < last_step(i); i++) {
		if (is_late(&options.gpu, rank) != late_gpu)
			set_kernel(rank, &late_gpu);
		if (options.mark)
			flamegrid_step();
		rank_step(comm, stream, rank, &random);
	}
	if (options.mark)
		flamegrid_step_end();
	REQUIRE(cudaStreamSynchronize(stream));
	if (options.mix) {
		rank_group(comm, stream);
		rank_functions(comm, stream);
		rank_exchange(comm, stream, rank);
		rank_split(comm, stream, rank);
		rank_capture(comm, stream);
		rank_reduce(comm, stream, 50);
	}
	REQUIRE(cudaStreamSynchronize(stream));
	while (options.wait && access(options.wait, F_OK) < 0)
		usleep(1000);
	REQUIRE(ncclCommDestroy(comm));
	return 0;
}

/* ---- the job */

static void set_number(const char *name, int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", value);
	setenv(name, text, 1);
}

static void start_rank(int rank, char **argv)
{
	pid_t pid = fork();

	if (pid < 0)
		require(1, "fork");
	if (pid > 0)
		return;
	set_number(RANK_VARIABLE, rank);
	set_number("RANK", rank);
	set_number("LOCAL_RANK", rank - options.first);
	set_number("WORLD_SIZE", options.ranks);
	set_number("LOCAL_WORLD_SIZE", options.count);
	execv("/proc/self/exe", argv);
	_exit(127);
}

static void name_job(void)
{
	char id[64];

	snprintf(id, sizeof(id), "fake_ranks %d", (int)getpid());
	setenv(ID_VARIABLE, options.job ? options.job : id, 1);
	set_number("FAKE_CUDA_DEVICES", options.count);
}

static int start_ranks(char **argv)
{
	int worst = 0, status;

	name_job();
	for (int rank = options.first; rank < options.first + options.count; rank++)
		start_rank(rank, argv);
	while (wait(&status) > 0) {
		int exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);

		worst = exit_status > worst ? exit_status : worst;
	}
	return worst;
}

static void *be_thread(void *rank)
{
	be_rank((int)(intptr_t)rank, getenv(ID_VARIABLE));
	return NULL;
}

static int start_threads(void)
{
	pthread_t threads[RANKS_MAX];

	name_job();
	for (intptr_t i = 0; i < options.count; i++)
		REQUIRE(pthread_create(&threads[i], NULL, be_thread, (void *)(options.first + i)));
	for (int i = 0; i < options.count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static void read_lateness(struct lateness *lateness)
{
	if (sscanf(optarg, "%d-%d:%u", &lateness->rank, &lateness->last, &lateness->us) == 3)
		return;
	if (sscanf(optarg, "%d:%u", &lateness->rank, &lateness->us) != 2)
		require(1, "RANK:NUMBER");
	lateness->last = lateness->rank;
}

static void read_options(int argc, char **argv)
{
	static const struct option table[] = {{"ranks", required_argument, NULL, 'n'},
					      {"steps", required_argument, NULL, 's'},
					      {"late-host", required_argument, NULL, 'h'},
					      {"late-gpu", required_argument, NULL, 'g'},
					      {"load", required_argument, NULL, 'l'},
					      {"more-load", required_argument, NULL, 'L'},
					      {"work", required_argument, NULL, 'k'},
					      {"more-work", required_argument, NULL, 'K'},
					      {"here", required_argument, NULL, 'H'},
					      {"job", required_argument, NULL, 'j'},
					      {"gpu", required_argument, NULL, 'G'},
					      {"late-while", required_argument, NULL, 'W'},
					      {"until", required_argument, NULL, 'u'},
					      {"pipeline", required_argument, NULL, 'p'},
					      {"experts", no_argument, NULL, 'e'},
					      {"ahead", no_argument, NULL, 'a'},
					      {"mark", no_argument, NULL, 'M'},
					      {"mix", no_argument, NULL, 'm'},
					      {"wait", required_argument, NULL, 'w'},
					      {"threads", no_argument, NULL, 't'},
					      {0}};
	int option;

	while ((option = getopt_long(argc, argv, "", table, NULL)) != -1) {
		if (option == 'n')
			options.ranks = atoi(optarg);
		else if (option == 's')
			options.steps = atoi(optarg);
		else if (option == 'h')
			read_lateness(&options.host);
		else if (option == 'g')
			read_lateness(&options.gpu);
		else if (option == 'l')
			options.load_us = (unsigned int)atoi(optarg);
		else if (option == 'L')
			read_lateness(&options.load);
		else if (option == 'k')
			options.work_us = (unsigned int)atoi(optarg);
		else if (option == 'K')
			read_lateness(&options.work);
		else if (option == 'H')
			require(sscanf(optarg, "%d:%d", &options.first, &options.count) != 2,
				"--here");
		else if (option == 'j')
			options.job = optarg;
		else if (option == 'G')
			require(sscanf(optarg, "%u-%u", &options.gpu_us, &options.gpu_most_us) != 2,
				"--gpu");
		else if (option == 'W')
			options.late_while = optarg;
		else if (option == 'u')
			options.until = optarg;
		else if (option == 'p')
			options.micro_batches = atoi(optarg);
		else if (option == 'e')
			options.experts = true;
		else if (option == 'a')
			options.ahead = true;
		else if (option == 'M')
			options.mark = true;
		else if (option == 'm')
			options.mix = true;
		else if (option == 't')
			options.threads = true;
		else if (option == 'w')
			options.wait = optarg;
		else
			exit(2);
	}
	require(options.ranks < 1 || options.ranks > RANKS_MAX, "--ranks");
	if (!options.count)
		options.count = options.ranks;
	require(options.first < 0 || options.count < 1 ||
			options.count > options.ranks - options.first,
		"--here");
}

int main(int argc, char **argv)
{
	const char *rank = getenv(RANK_VARIABLE), *id = getenv(ID_VARIABLE);

	read_options(argc, argv);
	if (options.threads)
		return start_threads();
	return rank && id ? be_rank(atoi(rank), id) : start_ranks(argv);
}

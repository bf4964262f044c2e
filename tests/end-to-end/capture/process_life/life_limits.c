/* Little room, odd places. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "life.h"

static int with_limit(int resource, rlim_t limit, const char *name)
{
	if (setrlimit(resource, &(struct rlimit){limit, limit}) != 0)
		return 1;
	life_work(name, 200);
	return 0;
}

static int few_descriptors(void)
{
	return with_limit(RLIMIT_NOFILE, 8, "8 descriptors");
}

static int no_descriptors(void)
{
	return with_limit(RLIMIT_NOFILE, 3, "3 descriptors");
}

static int little_address_space(void)
{
	return with_limit(RLIMIT_AS, 512u << 20, "512 MiB");
}

static int least_address_space(void)
{
	return with_limit(RLIMIT_AS, 64u << 20, "64 MiB");
}

static int no_locked_memory(void)
{
	return with_limit(RLIMIT_MEMLOCK, 0, "no locked memory");
}

static int small_files(void)
{
	return with_limit(RLIMIT_FSIZE, 8192, "small files");
}

static int small_stack(void)
{
	setrlimit(RLIMIT_STACK, &(struct rlimit){256u << 10, 256u << 10});
	life_become("good");
}

static void *start_cuda(void *unused)
{
	life_work("started here", 100);
	return unused;
}

/* The first call of CUDA, which loads a profiler, comes from a thread with the least stack there is. */
static int thread_of_least_stack(void)
{
	long least = sysconf(_SC_THREAD_STACK_MIN);
	pthread_attr_t tiny;
	pthread_t thread;

	pthread_attr_init(&tiny);
	if (pthread_attr_setstacksize(&tiny, least > 16384 ? (size_t)least : 16384) != 0 ||
	    pthread_create(&thread, &tiny, start_cuda, NULL) != 0)
		return 1;
	pthread_join(thread, NULL);
	return 0;
}

static int tiny_stack(void)
{
	setrlimit(RLIMIT_STACK, &(struct rlimit){24u << 10, 24u << 10});
	life_become("good");
}

static int endless_stack(void)
{
	setrlimit(RLIMIT_STACK, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
	life_become("good");
}

/* For a user that is not root: root has no such limit. */
static int no_threads(void)
{
	const uid_t nobody = 65534;

	if (getuid() == 0 && (setgid(nobody) != 0 || setuid(nobody) != 0))
		return 1;
	prctl(PR_SET_DUMPABLE, 1);
	return with_limit(RLIMIT_NPROC, 0, "no threads");
}

static int gone_directory(void)
{
	char folder[] = "/tmp/life.XXXXXX";

	if (!mkdtemp(folder) || chdir(folder) != 0 || rmdir(folder) != 0)
		return 1;
	life_work("nowhere", 100);
	return 0;
}

static int empty_root(void)
{
	char folder[] = "/tmp/life.XXXXXX";

	if (!mkdtemp(folder) || chroot(folder) != 0 || chdir("/") != 0)
		return 1;
	life_work("chroot", 100);
	return 0;
}

/* Like a container that mounts none. */
static int no_proc(void)
{
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("none", "/proc", "tmpfs", 0, NULL) != 0)
		return 1;
	life_work("without /proc", 100);
	return 0;
}

static int own_pids(void)
{
	int status = -1;

	if (unshare(CLONE_NEWPID) != 0)
		return 1;
	pid_t pid = fork();
	if (pid == 0) {
		life_work("first of its name", 100);
		exit(getpid() == 1 ? 21 : 22);
	}
	waitpid(pid, &status, 0);
	life_say_status("in its namespace", status);
	return 0;
}

/* As a program that drops its rights does. */
static int other_user(void)
{
	life_work("as root", 50);
	if (setgid(65534) != 0 || setuid(65534) != 0)
		return 1;
	life_work("as nobody", 50);
	return 0;
}

static int no_new_files(void)
{
	int fds[4096], nr = 0;

	setrlimit(RLIMIT_NOFILE, &(struct rlimit){64, 64});
	while (nr < 4096 && (fds[nr] = open("/dev/null", O_RDONLY)) >= 0)
		nr++;
	life_work("all descriptors in use", 100);
	return nr > 0 ? 0 : 1;
}

static int no_dump(void)
{
	prctl(PR_SET_DUMPABLE, 0);
	life_work("not dumpable", 100);
	return 0;
}

const struct life_sample life_limits[] = {
	{"few-descriptors", few_descriptors},
	{"no-descriptors", no_descriptors},
	{"no-new-files", no_new_files},
	{"little-address-space", little_address_space},
	{"least-address-space", least_address_space},
	{"no-locked-memory", no_locked_memory},
	{"small-files", small_files},
	{"small-stack", small_stack},
	{"tiny-stack", tiny_stack},
	{"thread-of-least-stack", thread_of_least_stack},
	{"endless-stack", endless_stack},
	{"no-threads", no_threads},
	{"gone-directory", gone_directory},
	{"empty-root", empty_root},
	{"no-proc", no_proc},
	{"own-pids", own_pids},
	{"other-user", other_user},
	{"no-dump", no_dump},
	{0},
};

/* Children of all sorts. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "life.h"

extern char **environ;

static void wait_for(const char *who, pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	life_say_status(who, status);
}

static int child_exits(void)
{
	life_work("parent", 100);
	pid_t pid = fork();
	if (pid == 0)
		exit(11);
	wait_for("child", pid);
	life_work("parent", 100);
	return 0;
}

static int child_leaves(void)
{
	life_work("parent", 100);
	pid_t pid = fork();
	if (pid == 0)
		_exit(12);
	wait_for("child", pid);
	life_work("parent", 100);
	return 0;
}

static int child_is_killed(void)
{
	life_work("parent", 100);
	pid_t pid = fork();
	if (pid == 0)
		kill(getpid(), SIGKILL);
	wait_for("child", pid);
	life_work("parent", 100);
	return 0;
}

/* CUDA says no; so it goes, with and without a profiler. */
static int child_tries_cuda(void)
{
	life_work("parent", 100);
	pid_t pid = fork();
	if (pid == 0) {
		life_work("child", 1);
		exit(0);
	}
	wait_for("child", pid);
	return 0;
}

static int child_execs(void)
{
	life_work("parent", 100);
	pid_t pid = fork();
	if (pid == 0)
		life_become("nonzero");
	wait_for("child", pid);
	life_work("parent", 100);
	return 0;
}

/* CUDA begins in the child; the parent never uses it. */
static int only_child_works(void)
{
	pid_t pid = fork();

	if (pid == 0)
		exit((life_work("child", 200), 13));
	wait_for("child", pid);
	return 0;
}

static int execs_itself(void)
{
	life_work("first", 100);
	life_become("good");
}

static _Atomic int stop;

static void *launch_until_told(void *unused)
{
	while (!stop)
		life_launch(1);
	return unused;
}

static int forks_while_launching(void)
{
	pthread_t threads[3];

	life_work("parent", 10);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, launch_until_told, NULL);
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(14);
		wait_for("child", pid);
	}
	stop = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	life_work("parent", 10);
	return 0;
}

static int vforks(void)
{
	life_work("parent", 100);
	pid_t pid = vfork();
	if (pid == 0) {
		execl("/proc/self/exe", life_arguments[0], "nonzero", (char *)NULL);
		_exit(97);
	}
	wait_for("child", pid);
	return 0;
}

static int spawns(void)
{
	char *const arguments[] = {life_arguments[0], (char *)"nonzero", NULL};
	pid_t pid;

	life_work("parent", 100);
	if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, arguments, environ) != 0)
		return 1;
	wait_for("child", pid);
	return 0;
}

static int in_shared_memory(void *word)
{
	*(_Atomic int *)word = 15;
	syscall(SYS_exit, 16);
	return 0;
}

static int clones_with_memory(void)
{
	static _Alignas(64) char stack[65536];
	static _Atomic int word;

	life_work("parent", 100);
	pid_t pid =
		clone(in_shared_memory, stack + sizeof(stack), CLONE_VM | SIGCHLD, (void *)&word);
	wait_for("clone", pid);
	life_say("word %d", word);
	life_work("parent", 100);
	return 0;
}

/* No fork handler runs. exit() is not for such a child: another thread may have held a lock that it takes. */
static int clones_bare(void)
{
	life_work("parent", 100);
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid == 0)
		_exit(17);
	wait_for("clone", pid);
	life_work("parent", 100);
	return 0;
}

/* The daemon's word comes through the pipe that LIFE_PIPE names, since it closes all that it has. */
static void be_daemon(void)
{
	setsid();
	if (fork() != 0)
		_exit(0);
	for (int fd = 0; fd < 1024; fd++)
		close(fd);
	open("/dev/null", O_RDONLY);
	int out = open(getenv("LIFE_PIPE"), O_WRONLY);
	if (out != STDOUT_FILENO)
		_exit(95);
	open("/dev/null", O_WRONLY);
	life_work("daemon", 300);
	exit(0);
}

static int starts_a_daemon(void)
{
	pid_t pid = fork();

	if (pid == 0)
		be_daemon();
	wait_for("first child", pid);
	life_work("parent", 50);
	return 0;
}

/* CUDA in the parent, then fork and exec of a daemon that uses CUDA anew when its parent is gone. */
static int leaves_a_daemon(void)
{
	life_work("parent", 50);
	pid_t pid = fork();
	if (pid == 0)
		life_become("-daemon");
	return 18;
}

static int daemon_itself(void)
{
	pid_t parent = getppid();

	while (getppid() == parent && parent != 1)
		sched_yield();
	be_daemon();
	return 0;
}

static int asks_the_shell(void)
{
	char line[64] = "";

	life_work("parent", 100);
	life_say_status("system", system("exit 19"));
	FILE *pipe = popen("echo from the pipe", "r");
	if (!pipe || !fgets(line, sizeof(line), pipe))
		return 1;
	line[strcspn(line, "\n")] = '\0';
	life_say("%s", line);
	life_say_status("pclose", pclose(pipe));
	return 0;
}

/* Whoever waits for any child must meet its own alone. */
static int waits_for_any(void)
{
	int status;

	life_work("parent", 100);
	for (int i = 0; i < 3; i++)
		if (fork() == 0)
			_exit(20);
	for (int i = 0; i < 3; i++)
		if (waitpid(-1, &status, 0) > 0)
			life_say_status("any", status);
	life_say("none left: %d", waitpid(-1, &status, 0) < 0);
	return 0;
}

const struct life_sample life_children[] = {
	{"child-exits", child_exits},
	{"child-leaves", child_leaves},
	{"child-is-killed", child_is_killed},
	{"child-tries-cuda", child_tries_cuda},
	{"child-execs", child_execs},
	{"only-child-works", only_child_works},
	{"execs-itself", execs_itself},
	{"forks-while-launching", forks_while_launching},
	{"vforks", vforks},
	{"spawns", spawns},
	{"clones-with-memory", clones_with_memory},
	{"clones-bare", clones_bare},
	{"starts-a-daemon", starts_a_daemon},
	{"leaves-a-daemon", leaves_a_daemon},
	{"-daemon", daemon_itself},
	{"asks-the-shell", asks_the_shell},
	{"waits-for-any", waits_for_any},
	{0},
};

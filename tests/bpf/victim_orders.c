#include "tests/support/cmocka_test.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "victim_orders.h"

void victim_begin(struct victim *victim, const char *path)
{
	victim_begin_with(victim, path, NULL, NULL);
}

void victim_begin_with(struct victim *victim, const char *path, const char *first,
		       const char *second)
{
	int orders[2], answers[2];

	assert_int_equal(pipe2(orders, O_CLOEXEC), 0);
	assert_int_equal(pipe2(answers, O_CLOEXEC), 0);
	victim->pid = fork();
	if (victim->pid == 0) {
		dup2(orders[0], STDIN_FILENO);
		dup2(answers[1], STDOUT_FILENO);
		execl(path, path, first, second, NULL);
		_exit(1);
	}
	assert_true(victim->pid > 0);
	close(orders[0]);
	close(answers[1]);
	victim->orders = fdopen(orders[1], "w");
	victim->answers = fdopen(answers[0], "r");
	victim->calls = victim->ns = 0;
}

uint64_t victim_order(struct bpf_fixture *fixture, struct victim *victim, const char *format, ...)
{
	unsigned long long calls, ns;
	va_list arguments;

	va_start(arguments, format);
	vfprintf(victim->orders, format, arguments);
	va_end(arguments);
	fputc('\n', victim->orders);
	fflush(victim->orders);
	struct pollfd answer = {fileno(victim->answers), POLLIN, 0};
	while (fixture && poll(&answer, 1, 0) == 0)
		bpf_fixture_pass(fixture, 1);
	assert_int_equal(fscanf(victim->answers, "%llu %llu", &calls, &ns), 2);
	victim->calls += calls;
	victim->ns += ns;
	if (fixture)
		bpf_fixture_pass(fixture, 0);
	return calls;
}

void victim_end(struct victim *victim)
{
	int status;

	fputs("end\n", victim->orders);
	fclose(victim->orders);
	fclose(victim->answers);
	assert_int_equal(waitpid(victim->pid, &status, 0), victim->pid);
	assert_int_equal(WEXITSTATUS(status), 7);
}

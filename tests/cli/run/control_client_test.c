#include "cli/run/control_client.h"

#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "proto/control.h"

/* An agent that takes one request. */
struct agent {
	char path[64];
	int fd;
	pthread_t thread;
	const void *answer; /* NULL: it ends without one */
	size_t size;
};

static void *run(void *argument)
{
	const struct agent *agent = argument;
	struct control_request request;
	int fd = accept(agent->fd, NULL, NULL);

	assert_int_equal(recv(fd, &request, sizeof(request), 0), sizeof(request));
	if (agent->answer)
		assert_int_equal(send(fd, agent->answer, agent->size, 0), agent->size);
	close(fd);
	return NULL;
}

static void start(struct agent *agent, const void *answer, size_t size)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	*agent = (struct agent){.answer = answer, .size = size};
	snprintf(agent->path, sizeof(agent->path), "/tmp/control_client_test.%d", (int)getpid());
	strcpy(address.sun_path, agent->path);
	agent->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(agent->fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(agent->fd, 1), 0);
	assert_int_equal(pthread_create(&agent->thread, NULL, run, agent), 0);
}

static void stop(struct agent *agent)
{
	assert_int_equal(pthread_join(agent->thread, NULL), 0);
	close(agent->fd);
	unlink(agent->path);
}

static struct control_answer answer;

static int ask(const void *reply, size_t size)
{
	struct control_request request = {.wish = CONTROL_STATUS};
	struct agent agent;

	start(&agent, reply, size);
	int r = control_client_ask(agent.path, &request, &answer);
	stop(&agent);
	return r;
}

static void an_agent_that_hangs_up_has_ended(void **state)
{
	struct control_result result;
	struct agent agent;

	(void)state;
	assert_int_equal(ask(NULL, 0), -ECONNRESET);
	start(&agent, NULL, 0);
	assert_int_equal(control_client_ask_result(agent.path, 1, &result), -ECONNRESET);
	stop(&agent);
}

static void an_answer_that_makes_no_sense_is_of_another_version(void **state)
{
	const struct control_reply other = {.magic = 1};

	(void)state;
	assert_int_equal(ask(&other, sizeof(other)), -EPROTO);
	assert_int_equal(ask("x", 1), -EPROTO);
}

static void a_refusal_is_an_answer(void **state)
{
	const struct control_reply refusal = {.magic = CONTROL_MAGIC,
					      .version = CONTROL_VERSION,
					      .status = CONTROL_REFUSED_USER};

	(void)state;
	assert_int_equal(ask(&refusal, sizeof(refusal)), 0);
	assert_int_equal(answer.head.status, CONTROL_REFUSED_USER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_agent_that_hangs_up_has_ended),
		cmocka_unit_test(an_answer_that_makes_no_sense_is_of_another_version),
		cmocka_unit_test(a_refusal_is_an_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

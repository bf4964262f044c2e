#include "control_client.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define WAIT_S 2

static int connect_to(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const struct timeval timeout = {.tv_sec = WAIT_S};
	int fd;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) == 0 &&
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) == 0 &&
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;

	int error = errno == EAGAIN ? -ETIMEDOUT : -errno;
	close(fd);
	return error;
}

static int check(const struct control_answer *answer, ssize_t size)
{
	if (size < (ssize_t)sizeof(answer->head) || answer->head.magic != CONTROL_MAGIC ||
	    answer->head.nr_processes > CONTROL_PROCESSES_MAX ||
	    (size_t)size !=
		    sizeof(answer->head) + answer->head.nr_processes * sizeof(answer->processes[0]))
		return -EPROTO;
	return 0;
}

static int error_of(int error)
{
	if (error == EAGAIN)
		return -ETIMEDOUT;
	/* the agent closed the connection before our request, or after it */
	return error == EPIPE ? -ECONNRESET : -error;
}

/* Returns the size of the answer, or -errno. */
static ssize_t exchange(const char *path, struct control_request *request, void *answer,
			size_t size_max)
{
	int fd = connect_to(path);
	ssize_t size;

	if (fd < 0)
		return fd;
	request->magic = CONTROL_MAGIC;
	request->version = CONTROL_VERSION;
	size = send(fd, request, sizeof(*request), MSG_NOSIGNAL);
	if (size >= 0)
		size = recv(fd, answer, size_max, 0);
	if (size < 0)
		size = error_of(errno);
	else if (size == 0)
		size = -ECONNRESET; /* the connection was closed, so the agent is ending */
	close(fd);
	return size;
}

int control_client_ask(const char *path, struct control_request *request,
		       struct control_answer *answer)
{
	ssize_t size = exchange(path, request, answer, sizeof(*answer));

	return size < 0 ? (int)size : check(answer, size);
}

int control_client_ask_result(const char *path, uint32_t run, struct control_result *result)
{
	struct {
		struct control_reply head;
		struct control_result result;
	} answer;
	struct control_request request = {.wish = CONTROL_RESULT, .run = run};
	ssize_t size = exchange(path, &request, &answer, sizeof(answer));

	if (size < 0)
		return (int)size;
	if (size != sizeof(answer) || answer.head.magic != CONTROL_MAGIC)
		return -EPROTO;
	*result = answer.result;
	result->why[CONTROL_WHY_SIZE - 1] = result->place[CONTROL_PLACE_SIZE - 1] = '\0';
	return 0;
}

const char *control_client_status(uint32_t status)
{
	switch (status) {
	case CONTROL_OK:
		return "done";
	case CONTROL_REFUSED_VERSION:
		return "the agent is of another version";
	case CONTROL_REFUSED_USER:
		return "only the agent's user and root may do that";
	case CONTROL_NO_PROCESS:
		return "no such process is profiled there";
	case CONTROL_NOT_ATTACHED:
		return "it was not attached";
	default:
		return "the agent says something unknown";
	}
}

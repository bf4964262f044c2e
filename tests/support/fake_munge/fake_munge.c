#include "fake_munge.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SERIALS_MAX 65536u

/* As munge.h has them. */
enum munge_err { SUCCESS = 0, SOCKET = 6, BAD_CRED = 8, INVALID = 14, EXPIRED = 15, REPLAYED = 17 };

struct munge_ctx {
	enum munge_err error;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all that follows */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static uid_t user;
static int realm = 1;
static bool is_expired, is_gone, hangs;
static bool shown[SERIALS_MAX];
static uint32_t nr_encoded, nr_decoded, nr_waiting;

void fake_munge_reset(void)
{
	fake_munge_hang(false);
	pthread_mutex_lock(&lock);
	user = 0;
	realm = 1;
	is_expired = is_gone = false;
	memset(shown, 0, sizeof(shown));
	nr_encoded = nr_decoded = 0;
	pthread_mutex_unlock(&lock);
}

void fake_munge_user(uid_t uid)
{
	pthread_mutex_lock(&lock);
	user = uid;
	pthread_mutex_unlock(&lock);
}

void fake_munge_realm(int other)
{
	pthread_mutex_lock(&lock);
	realm = other;
	pthread_mutex_unlock(&lock);
}

void fake_munge_expired(bool expired)
{
	pthread_mutex_lock(&lock);
	is_expired = expired;
	pthread_mutex_unlock(&lock);
}

void fake_munge_gone(bool gone)
{
	pthread_mutex_lock(&lock);
	is_gone = gone;
	pthread_mutex_unlock(&lock);
}

void fake_munge_hang(bool stops)
{
	pthread_mutex_lock(&lock);
	hangs = stops;
	pthread_cond_broadcast(&changed);
	while (!hangs && nr_waiting)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

void fake_munge_await_call(void)
{
	pthread_mutex_lock(&lock);
	while (nr_waiting == 0)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static uint32_t read_count(const uint32_t *count)
{
	pthread_mutex_lock(&lock);
	uint32_t value = *count;
	pthread_mutex_unlock(&lock);
	return value;
}

uint32_t fake_munge_encoded(void)
{
	return read_count(&nr_encoded);
}

uint32_t fake_munge_decoded(void)
{
	return read_count(&nr_decoded);
}

/* The caller holds the lock. */
static void wait_for_munged(void)
{
	nr_waiting++;
	pthread_cond_broadcast(&changed);
	while (hangs)
		pthread_cond_wait(&changed, &lock);
	nr_waiting--;
	pthread_cond_broadcast(&changed);
}

/* ---- libmunge */

struct munge_ctx *munge_ctx_create(void);
void munge_ctx_destroy(struct munge_ctx *context);
const char *munge_strerror(enum munge_err error);
const char *munge_ctx_strerror(struct munge_ctx *context);
enum munge_err munge_encode(char **credential, struct munge_ctx *context, const void *bytes,
			    int size);
enum munge_err munge_decode(const char *credential, struct munge_ctx *context, void **bytes,
			    int *size, uid_t *uid, gid_t *gid);

struct munge_ctx *munge_ctx_create(void)
{
	return calloc(1, sizeof(struct munge_ctx));
}

void munge_ctx_destroy(struct munge_ctx *context)
{
	free(context);
}

const char *munge_strerror(enum munge_err error)
{
	switch (error) {
	case SUCCESS:
		return "Success";
	case SOCKET:
		return "Socket communication error";
	case BAD_CRED:
		return "Invalid credential format";
	case INVALID:
		return "Invalid credential";
	case EXPIRED:
		return "Expired credential";
	case REPLAYED:
		return "Replayed credential";
	}
	return "?";
}

/* Only details that munge_strerror() lacks. */
const char *munge_ctx_strerror(struct munge_ctx *context)
{
	return context->error == SOCKET ? "Failed to access \"/run/munge\"" : NULL;
}

enum munge_err munge_encode(char **credential, struct munge_ctx *context, const void *bytes,
			    int size)
{
	*credential = NULL;
	pthread_mutex_lock(&lock);
	nr_encoded++;
	wait_for_munged();
	context->error = is_gone ? SOCKET : SUCCESS;
	if (!is_gone &&
	    asprintf(credential, "FAKE:%d:%u:%u:%d:%.*s", realm, (unsigned int)user,
		     nr_encoded % SERIALS_MAX, is_expired, size, (const char *)bytes) < 0)
		abort();
	pthread_mutex_unlock(&lock);
	return context->error;
}

static enum munge_err check(int its_realm, uint32_t serial, int expired)
{
	if (its_realm != 1 || serial >= SERIALS_MAX)
		return INVALID;
	if (expired)
		return EXPIRED;
	if (shown[serial])
		return REPLAYED;
	shown[serial] = true;
	return SUCCESS;
}

/* As the real one it gives text and user also of a credential that is replayed or expired. */
enum munge_err munge_decode(const char *credential, struct munge_ctx *context, void **bytes,
			    int *size, uid_t *uid, gid_t *gid)
{
	int its_realm, expired, head = 0;
	unsigned int serial;

	*bytes = NULL;
	*size = 0;
	*gid = 0;
	pthread_mutex_lock(&lock);
	nr_decoded++;
	wait_for_munged();
	if (is_gone)
		context->error = SOCKET;
	else if (sscanf(credential, "FAKE:%d:%u:%u:%d:%n", &its_realm, uid, &serial, &expired,
			&head) != 4 ||
		 head == 0)
		context->error = BAD_CRED;
	else
		context->error = check(its_realm, serial, expired);
	if (head) {
		*bytes = strdup(credential + head);
		*size = (int)strlen(credential + head);
	}
	pthread_mutex_unlock(&lock);
	return context->error;
}

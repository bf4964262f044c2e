#include "guest_offers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "proto/offer_name.h"
#include "proto/trust/trusted_dir.h"

struct guest_offers {
	char *path;   /* owns */
	char *target; /* owns; target of the link at path; NULL: path is the directory */
	int fd;
	DIR *left;               /* owns; NULL: the round is complete */
	bool has_kept;           /* in this round */
	bool has_ended;          /* guest_offers_end() was called */
	struct timespec open_at; /* by the clock of that file system */
};

/* ---- the directory --------------------------------------------------------------------------- */

/* Opens only a directory, never a link to one. */
static int open_directory(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;

	if (fd < 0)
		return -errno;
	int r = fstat(fd, &status) ? -errno : status.st_uid == geteuid() ? 0 : -EPERM;
	if (r)
		close(fd);
	return r ? r : fd;
}

/* Follows a link only if it is ours. In /tmp other users can make a link to any directory of ours. */
static int open_shared(struct guest_offers *offers)
{
	char target[] = GUEST_OFFERS_SHARED "XXXXXX";

	if (readlink(offers->path, target, sizeof(target)) != sizeof(target) - 1 ||
	    strncmp(target, GUEST_OFFERS_SHARED, sizeof(GUEST_OFFERS_SHARED) - 1) != 0)
		return -ENOENT;
	offers->target = strdup(target);
	return offers->target ? open_directory(target) : -ENOMEM;
}

static int make_shared(struct guest_offers *offers)
{
	char parent[] = GUEST_OFFERS_SHARED;

	*strrchr(parent, '/') = '\0';
	int r = trusted_dir_check_parent(parent);
	if (r)
		return r;
	free(offers->target);
	offers->target = strdup(GUEST_OFFERS_SHARED "XXXXXX");
	if (!offers->target)
		return -ENOMEM;
	if (!mkdtemp(offers->target))
		return -errno;
	r = symlink(offers->target, offers->path) ? -errno : open_directory(offers->target);
	if (r < 0)
		rmdir(offers->target);
	return r;
}

static int make_directory(struct guest_offers *offers, bool any_user)
{
	if (any_user)
		return make_shared(offers);
	return mkdir(offers->path, 0700) ? -errno : open_directory(offers->path);
}

/* Opens the directory at the path if it is ours and of this kind; else makes a new one in its place. */
static int find_directory(struct guest_offers *offers, bool any_user)
{
	struct stat status;

	if (lstat(offers->path, &status))
		return errno == ENOENT ? make_directory(offers, any_user) : -errno;
	if (status.st_uid != geteuid() || !(S_ISLNK(status.st_mode) || S_ISDIR(status.st_mode)))
		return -EPERM;
	if (S_ISLNK(status.st_mode)) {
		/* The link's target may be gone, and its name may belong to another user by now. */
		int fd = any_user ? open_shared(offers) : -ENOENT;

		if (fd >= 0)
			return fd;
		if (unlink(offers->path))
			return -errno;
	} else if (!any_user) {
		return open_directory(offers->path);
	} else if (rmdir(offers->path)) {
		return -errno;
	}
	return make_directory(offers, any_user);
}

static DIR *list(int fd)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = copy < 0 ? NULL : fdopendir(copy);

	if (copy >= 0 && !directory)
		close(copy);
	return directory;
}

int guest_offers_open(const char *socket_path, bool any_user, struct guest_offers **offers)
{
	struct guest_offers *new_offers = calloc(1, sizeof(*new_offers));
	struct stat status;
	int r = -ENOMEM;

	*offers = NULL;
	if (!new_offers)
		return r;
	if (asprintf(&new_offers->path, "%s" HANDSHAKE_OFFERS, socket_path) < 0)
		new_offers->path = NULL;
	else
		r = new_offers->fd = find_directory(new_offers, any_user);
	/* fchmod() dates the directory by the clock that dates the files in it. */
	if (r >= 0 && (fchmod(r, any_user ? 01733 : 0700) || fstat(r, &status))) {
		r = -errno;
		close(new_offers->fd);
	}
	if (r < 0) {
		free(new_offers->target);
		free(new_offers->path);
		free(new_offers);
		return r;
	}
	new_offers->open_at = status.st_ctim;
	new_offers->left = list(new_offers->fd);
	*offers = new_offers;
	return 0;
}

void guest_offers_close(struct guest_offers *offers)
{
	if (!offers)
		return;
	if (offers->left)
		closedir(offers->left);
	close(offers->fd);
	if (!offers->target)
		rmdir(offers->path);
	else if (rmdir(offers->target) == 0)
		unlink(offers->path);
	free(offers->target);
	free(offers->path);
	free(offers);
}

/* ---- files ----------------------------------------------------------------------------------- */

void guest_offers_settle(struct guest_offers *offers, uid_t uid, const struct guest_hello *hello)
{
	char name[OFFER_NAME_SIZE];
	struct stat status;

	if (!offers)
		return;
	offer_name(hello, name);
	if (fstatat(offers->fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_uid == uid)
		unlinkat(offers->fd, name, 0);
}

/* An offer made since then is of a guest that this agent answers, unless the guest has ended. */
static bool is_earlier(const struct guest_offers *offers, const struct stat *status)
{
	const struct timespec *made = &status->st_ctim, *open_at = &offers->open_at;

	return offers->has_ended || made->tv_sec < open_at->tv_sec ||
	       (made->tv_sec == open_at->tv_sec && made->tv_nsec < open_at->tv_nsec);
}

/* Refuses a second name of a file: where links are not protected, users can make one of another user's file. */
static bool is_offer(const struct stat *status)
{
	return S_ISREG(status->st_mode) && status->st_nlink == 1;
}

static void read_one(struct guest_offers *offers, const char *name, guest_offers_left left,
		     void *context)
{
	struct guest_hello hello;
	struct stat status;

	if (fstatat(offers->fd, name, &status, AT_SYMLINK_NOFOLLOW) || !is_earlier(offers, &status))
		return;
	if (is_offer(&status) && offer_name_read(name, &hello) &&
	    !left(context, status.st_uid, &hello)) {
		offers->has_kept = true;
		return;
	}
	unlinkat(offers->fd, name, S_ISDIR(status.st_mode) ? AT_REMOVEDIR : 0);
}

static void end_round(struct guest_offers *offers)
{
	if (offers->has_kept) {
		rewinddir(offers->left);
		offers->has_kept = false;
		return;
	}
	closedir(offers->left);
	offers->left = NULL;
}

void guest_offers_end(struct guest_offers *offers)
{
	if (!offers)
		return;
	offers->has_ended = true;
	offers->has_kept = false;
	if (offers->left)
		rewinddir(offers->left);
	else
		offers->left = list(offers->fd);
}

bool guest_offers_read(struct guest_offers *offers, uint32_t max, guest_offers_left left,
		       void *context)
{
	if (!offers || !offers->left)
		return false;
	for (uint32_t i = 0; i < max; i++) {
		const struct dirent *entry = readdir(offers->left);

		if (!entry) {
			end_round(offers);
			return false;
		}
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			read_one(offers, entry->d_name, left, context);
	}
	return true;
}

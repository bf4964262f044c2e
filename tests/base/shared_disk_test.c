#include "tests/support/cmocka_test.h"

#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/shared_disk.h"

#define FUSE 0x65735546ul

static void file_systems_of_several_hosts_are_told_by_their_numbers(void **state)
{
	static const unsigned long shared[] = {
		NFS_SUPER_MAGIC,         SMB2_SUPER_MAGIC,        CIFS_SUPER_MAGIC,
		CEPH_SUPER_MAGIC,        0x0bd00bd0 /* Lustre */, 0x47504653 /* GPFS */,
		0x19830326 /* BeeGFS */,
	};
	static const unsigned long own[] = {EXT4_SUPER_MAGIC, TMPFS_MAGIC, BTRFS_SUPER_MAGIC,
					    OVERLAYFS_SUPER_MAGIC, 0x58465342 /* XFS */};

	(void)state;
	for (size_t i = 0; i < sizeof(shared) / sizeof(*shared); i++)
		assert_true(shared_disk_is_kind(shared[i], ""));
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		assert_false(shared_disk_is_kind(own[i], ""));
}

static void of_fuse_the_type_decides(void **state)
{
	(void)state;
	assert_true(shared_disk_is_kind(FUSE, "fuse.sshfs"));
	assert_true(shared_disk_is_kind(FUSE, "fuse.glusterfs"));
	assert_true(shared_disk_is_kind(FUSE, "fuse"));
	assert_true(shared_disk_is_kind(FUSE, ""));
	assert_false(shared_disk_is_kind(FUSE, "fuse.fuse-overlayfs"));
	assert_false(shared_disk_is_kind(FUSE, "fuseblk"));
}

static void the_type_stands_behind_the_dash_of_the_device_s_line(void **state)
{
	static char text[] =
		"22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
		"no line of a mount\n"
		"40 22 0:47 / /a\\040-\\040b rw shared:9 master:2 - fuse.sshfs h:/d rw\n"
		"41 22 0:48 / /c rw - fuseblk /dev/sdb1 rw\n";
	static const struct {
		unsigned int major_number, minor_number;
		const char *type;
	} cases[] = {{254, 0, "ext4"},
		     {0, 47, "fuse.sshfs"},
		     {0, 48, "fuseblk"},
		     {0, 4, ""},
		     {47, 0, ""}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char type[SHARED_DISK_TYPE_SIZE];
		FILE *mountinfo = fmemopen(text, strlen(text), "r");

		assert_non_null(mountinfo);
		shared_disk_type(mountinfo, makedev(cases[i].major_number, cases[i].minor_number),
				 type);
		fclose(mountinfo);
		assert_string_equal(type, cases[i].type);
	}
}

static void a_folder_that_is_not_there_is_not_shared(void **state)
{
	(void)state;
	assert_false(shared_disk_has("/proc/self/no such folder"));
	assert_false(shared_disk_has("/proc"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file_systems_of_several_hosts_are_told_by_their_numbers),
		cmocka_unit_test(of_fuse_the_type_decides),
		cmocka_unit_test(the_type_stands_behind_the_dash_of_the_device_s_line),
		cmocka_unit_test(a_folder_that_is_not_there_is_not_shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

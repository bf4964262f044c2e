#include "control_rights.h"

#include "node-agent/base/trusted_user.h"

bool control_rights_cover_all(uid_t uid)
{
	return trusted_user(uid);
}

bool control_rights_cover(uid_t uid, uid_t owner)
{
	return uid == owner || control_rights_cover_all(uid);
}

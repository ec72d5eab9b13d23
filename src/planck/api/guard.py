"""What is refused before anything of a request is read: names, origins, secrets, in this order."""

from collections.abc import Iterable

from planck.api.access import Access, Caller
from planck.api.errors import ApiError
from planck.api.rights import ROLES, Role, check_role, find_narrowest
from planck.records.outcome import ErrorKind

_OWN_NAMES = ("127.0.0.1", "localhost", "planck.localhost", "[::1]")
_OWN_SITE = {b"same-origin", b"none"}
_VISIT = [[b"navigate"], [b"document"]]
"""What a browser says of a page that it opens in a tab; of one in a frame it says something else."""

AS_ROLE = "planck-role"
"""Header with the role of the original sender, set by a node that forwards a request with its own token. It
only narrows the role of the token, so a client gains nothing by sending it."""

Headers = Iterable[tuple[bytes, bytes]]


def find_header(headers: Headers, name: bytes) -> list[bytes]:
    return [value for key, value in headers if key == name]


class Guard:
    """Answers for the door: a foreign page gets nothing, token or not."""

    def __init__(
        self,
        access: Access,
        port: int,
        names: Iterable[str] = (),
        own_names: Iterable[str] = (),
        *,
        proxied: bool = False,
    ) -> None:
        """`names` are hosts beside this machine's own; behind a proxy they are reached by https.

        `own_names` are further ones of this machine.
        """
        own = {f"{name}:{port}" for name in (*_OWN_NAMES, *own_names)}
        if port == 80:
            own |= {name.rpartition(":")[0] for name in own}
        given = {name.lower() for name in names}
        given |= {f"{name}:{port}" for name in given if ":" not in name}
        self._hosts = {host.encode() for host in own | given}
        schemes = ("http", "https") if proxied else ("http",)
        self._origins = {f"{scheme}://{host}".encode() for scheme in schemes for host in own | given}
        self._access = access

    def admit(self, headers: Headers, target: bytes, *, open_to_all: bool) -> Caller | None:
        """Returns how the caller showed that it may, and what; None where nobody needs to. Else raises."""
        headers = list(headers)
        self._check_host(headers, target)
        self._check_site(headers)
        if role := self._access.find_role(find_header(headers, b"authorization")):
            asked_by = [value.decode("latin-1") for value in find_header(headers, AS_ROLE.encode())]
            return Caller("token", find_narrowest(role, *asked_by))
        # Cookies ignore ports: any server on this host could make a browser send ours.
        own_page = find_header(headers, b"sec-fetch-site") == [b"same-origin"]
        same = own_page or len(find_header(headers, b"origin")) == 1
        if same and self._access.has_cookie(find_header(headers, b"cookie")):
            return Caller("cookie", ROLES[-1])
        if open_to_all:
            return None
        raise ApiError(
            401,
            ErrorKind.UNAUTHORIZED,
            "Missing or invalid token. Send `Authorization: Bearer TOKEN`. "
            '"planck serve" prints the path of the token file.',
        )

    def admit_visitor(self, headers: Headers, target: bytes) -> None:
        """Lets anybody see the page's own files, but no foreign page take them into itself.

        A link to the page, from a mail or the file that `--open` makes, is a visit from another site.
        """
        headers = list(headers)
        self._check_host(headers, target)
        if [find_header(headers, name) for name in (b"sec-fetch-mode", b"sec-fetch-dest")] != _VISIT:
            self._check_site(headers)

    def _check_host(self, headers: Headers, target: bytes) -> None:
        hosts = find_header(headers, b"host")
        # An absolute target names a host of its own, which would count instead of the header.
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts or not target.startswith(b"/"):
            raise ApiError(
                421,
                ErrorKind.PERMISSION_DENIED,
                "The Host header does not name this server. Use the address that the server printed, or "
                "allow the name with --allow-host.",
            )

    def _check_site(self, headers: Headers) -> None:
        origins, sites = find_header(headers, b"origin"), find_header(headers, b"sec-fetch-site")
        if not set(origins) <= self._origins or not set(sites) <= _OWN_SITE:
            raise ApiError(
                403,
                ErrorKind.PERMISSION_DENIED,
                "A page from another origin cannot use this server. Open the server's own page.",
            )

    async def wait_until_refused(self, headers: Headers, target: bytes, needed: Role) -> None:
        """Returns once the caller's token or cookie has ended, or may do less than this takes."""
        headers = list(headers)
        while True:
            try:
                caller = self.admit(headers, target, open_to_all=False)
                assert caller
                check_role(caller.role, needed)
            except ApiError:
                return
            await self._access.wait_for_change()

"""Requests without any client."""
import base64
import urllib.parse
import urllib.request


def request(method, url):
    """Returns the answer's body. urllib takes no credentials in a URL, so they go into a header."""
    parts = urllib.parse.urlsplit(url)
    headers = {"Accept": "application/json"}
    if parts.username:
        credentials = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password)}"
        headers["Authorization"] = "Basic " + base64.b64encode(credentials.encode()).decode()
    target = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    with urllib.request.urlopen(urllib.request.Request(target, method=method, headers=headers), timeout=10) as answer:
        return answer.read()

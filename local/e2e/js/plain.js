/** Sends a request without any client; fetch takes no credentials in a URL, so they go into a header. */
export function plain(method, text) {
  const url = new URL(text);
  const headers = { Accept: 'application/json' };
  if (url.username) {
    const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
    headers.Authorization = `Basic ${Buffer.from(credentials).toString('base64')}`;
    url.username = '';
    url.password = '';
  }
  return fetch(url, { method, headers });
}

// Questions to the worker. The token travels in a header alone: no address and no log holds it.

export class Refusal extends Error {
  /** `again`: after how many seconds it is worth asking again; undefined: it is not. */
  constructor(status, detail, again) {
    super(detail);
    this.status = status;
    this.again = again;
  }
}

/** The response to a question; raises Refusal. Status 0: the worker does not answer. */
export async function ask(path, query, token, signal) {
  if (!/^[\x20-\x7e]+$/.test(token)) throw new Refusal(401, ""); // no header can hold it
  let response;
  try {
    response = await fetch(`v1/${path}?${new URLSearchParams(query)}`, {
      headers: { Authorization: `Bearer ${token}` },
      credentials: "omit", cache: "no-store", redirect: "error", referrerPolicy: "no-referrer", signal,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(0, "", 2);
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

async function refusal(response) {
  const told = await response.json().catch(() => ({}));
  const again = response.status >= 500 ? Number(response.headers.get("Retry-After")) || 5 : undefined;
  return new Refusal(response.status, String(told.detail ?? response.statusText), again);
}

/** Have the browser keep a response as a file; answers the file's name. */
export async function keep(response) {
  const [, name] = /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition") ?? "") ?? [null, "usage.csv"];
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  return name;
}

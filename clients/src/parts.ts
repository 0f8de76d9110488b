/** Reads multipart responses with deferred parts, for clients that do not do so themselves. */

type Json = Record<string, any>;
type Path = (string | number)[];

/** Yields the JSON of each part, as soon as it is complete. */
export async function* parts(response: Response): AsyncGenerator<Json> {
  if (!response.headers.get("content-type")?.startsWith("multipart/mixed")) {
    yield (await response.json()) as Json;
    return;
  }
  if (!response.body) return;
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf("\r\n---"); end >= 0; end = text.indexOf("\r\n---")) {
      const json = text.slice(0, end).split("\r\n\r\n")[1];
      text = text.slice(end + 5);
      if (json) yield JSON.parse(json) as Json;
    }
  }
}

/** Merges the results of an operation, and returns parts as Relay takes them. */
export class Merging {
  data: Json = {};
  private pending = new Map<string, { path: Path; label?: string }>();

  take(result: Json): Json[] {
    for (const part of result["pending"] ?? []) this.pending.set(part.id, part);
    const found: Json[] = [];
    if ("data" in result) {
      this.data = result["data"];
      found.push({ data: structuredClone(this.data), errors: result["errors"] });
    }
    for (const { id, subPath = [], data, items } of result["incremental"] ?? []) {
      const { path, label } = this.pending.get(id)!;
      const place = this.at([...path, ...subPath]);
      if (data) Object.assign(place, data);
      for (const item of items ?? []) {
        found.push({ data: structuredClone(item), label, path: [...path, place.length] });
        place.push(item);
      }
    }
    for (const { id, errors } of result["completed"] ?? []) {
      const { path, label } = this.pending.get(id)!;
      const place = this.at(path);
      // A deferred fragment is complete; elements of a list came before.
      if (!Array.isArray(place)) found.push({ data: errors ? null : structuredClone(place), label, path, errors });
    }
    return found;
  }

  private at(path: Path): any {
    return path.reduce((place: any, step) => place[step], this.data);
  }
}

/** Runs checks and prints one line for each. */
import assert from "node:assert/strict";

export const url = required("HEARTWOOD_URL");
export const token = required("HEARTWOOD_TOKEN");
export const headers = { authorization: `Bearer ${token}`, "x-tenant-id": required("HEARTWOOD_TENANT") };
export const unique = Date.now().toString(36);

function required(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run \`make clients\`.`);
  return value;
}

export async function check(promise: string, run: () => Promise<void>): Promise<void> {
  try {
    await run();
    console.log(`ok      ${promise}`);
  } catch (error) {
    process.exitCode = 1;
    console.log(`FAILED  ${promise}`);
    console.log(error instanceof Error ? error.stack : error);
  }
}

/** Returns a value that must be there. */
export function there<T>(value: T | null | undefined): NonNullable<T> {
  assert.ok(value !== null && value !== undefined, "null where a value is expected");
  return value;
}

/** Repeats a read until it returns something: lists may follow their changes within a second. */
export async function eventually<T>(read: () => Promise<T | false>): Promise<T> {
  for (let attempt = 0; attempt < 50; attempt++) {
    const result = await read();
    if (result !== false) return result;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error("waited in vain");
}

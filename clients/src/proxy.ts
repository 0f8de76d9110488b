/** A proxy in front of the server, whose connections can be cut like those of a server that fails. */
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

export type Proxy = { http: string; ws: string; cut: () => number; close: () => void };

export async function proxyTo(target: string): Promise<Proxy> {
  const { hostname, port, pathname } = new URL(target);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const [one, other] of [[client, upstream], [upstream, client]] as const) {
      sockets.add(one);
      one.pipe(other);
      one.on("error", () => other.destroy());
      one.on("close", () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`;
  return {
    http: `http://${address}`,
    ws: `ws://${address}`,
    cut() {
      const cut = sockets.size;
      for (const socket of sockets) socket.destroy();
      return cut;
    },
    close: () => server.close(),
  };
}

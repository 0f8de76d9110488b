// Starts the example: a Heartwood server with demo data, unless one is running, and Vite. Generates types on changes.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createServer } from 'vite'

const port = process.env.PORT ?? '8000'
const url = `http://127.0.0.1:${port}`
process.env.HEARTWOOD_URL = url

const root = fileURLToPath(new URL('../..', import.meta.url))
const start = (command, ...args) => spawn(command, args, { stdio: 'inherit', cwd: root })
const generateTypes = () => once(start('npm', 'run', '--silent', '--prefix', 'examples/web', 'codegen'), 'exit')
const isReady = () =>
  fetch(`${url}/readyz`).then(
    (response) => response.ok,
    () => false,
  )

if (!(await isReady())) {
  const server = start('.venv/bin/heartwood', 'serve')
  server.on('exit', (code) => process.exit(code ?? 1))
  process.on('exit', () => server.kill())
  while (!(await isReady())) await sleep(200)
}
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit())

await generateTypes()
const vite = await createServer()
await vite.listen()
vite.watcher.on('change', (file) => /src\/(?!gql\/).*\.tsx?$/.test(file) && generateTypes())
console.log('\nThe example is ready. Sign in as maya with the password: heartwood demo')
vite.printUrls()

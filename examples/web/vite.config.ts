import react from '@vitejs/plugin-react'
import { defineConfig, loadEnv } from 'vite'

export default defineConfig(({ mode }) => {
  const { HEARTWOOD_URL: target = 'http://localhost:8000' } = loadEnv(mode, '.', 'HEARTWOOD_')
  // The browser sees one origin only, so the server needs no CORS_ORIGINS. `vite preview` uses the same proxy.
  return { plugins: [react()], server: { proxy: { '/graphql': target, '^/trees/[^/]+\\.svg': target } } }
})

/** An endpoint of SvelteKit: its production build by adapter-node, whose handler works in any Node.js server. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe } from 'vitest'
import { appFolder, mustBuild, removeFolder, startApp } from './app-process.ts'
import { adapterCases, type AdapterOptions } from './cases.ts'

describe('SvelteKit', () => {
  const folder = appFolder('sveltekit', ['@sveltejs/kit', '@sveltejs/adapter-node', 'svelte', 'vite'])
  const vite = join(folder, 'node_modules/vite/bin/vite.js')
  beforeAll(() => mustBuild(process.execPath, [vite, 'build'], folder))
  afterAll(() => removeFolder(folder))

  const app = { command: process.execPath, args: ['main.mjs'], cwd: folder, says: /listening on (\d+)/ }
  const starting = (path: string) => (options: AdapterOptions) => startApp(app, options, path)

  adapterCases('an endpoint', {
    start: starting('/status'),
    parser: { start: starting('/behind-parser'), code: 'body_already_read', says: 'request.clone()' },
  })
})

/** A route handler of Next.js: its production build, and its own server. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe } from 'vitest'
import { appFolder, mustBuild, removeFolder, startApp } from './app-process.ts'
import { adapterCases, type AdapterOptions } from './cases.ts'

describe('Next.js', () => {
  const folder = appFolder('next', ['next', 'react', 'react-dom'])
  const next = join(folder, 'node_modules/next/dist/bin/next')
  beforeAll(() => mustBuild(process.execPath, [next, 'build'], folder))
  afterAll(() => removeFolder(folder))

  const app = {
    command: process.execPath,
    args: [next, 'start', '--port', '0', '--hostname', '127.0.0.1'],
    cwd: folder,
    says: /Local: +http:\/\/127\.0\.0\.1:(\d+)[^]*Ready/,
  }
  const starting = (path: string) => (options: AdapterOptions) => startApp(app, options, path)

  adapterCases('a route handler', {
    start: starting('/status'),
    parser: { start: starting('/behind-parser'), code: 'body_already_read', says: 'request.clone()' },
  })
})

/** `npm run installed`: fails, in one line, if packages of `.ci/package.json` are missing. `npm ci` alone leaves them out. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

const { devDependencies } = JSON.parse(readFileSync(join(ROOT, '.ci/package.json'), 'utf8')) as {
  readonly devDependencies: Readonly<Record<string, string>>
}
const missing = Object.keys(devDependencies).filter((name) => !existsSync(join(ROOT, 'node_modules', name)))
if (missing.length > 0) {
  console.error(
    `npm ci leaves out packages that this needs, such as ${missing.slice(0, 3).join(', ')}. Run: npm run install:all`,
  )
  process.exitCode = 1
}

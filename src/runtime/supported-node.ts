/** Throws on a Node.js that is too old. Each entry point imports it first; a failure of a missing function would not say why. */
import { MessagingWebhooksError } from '../public/errors.ts'

/** As in `engines` of package.json. */
const OLDEST = [22, 13] as const

interface Runtime {
  readonly process?: { readonly versions?: Readonly<Partial<Record<'node' | 'bun' | 'deno', string>>> }
}

/** Undefined outside Node.js. Other runtimes name the Node.js that they imitate. */
function versionOfNode({ process: { versions } = {} }: Runtime): string | undefined {
  return versions?.bun === undefined && versions?.deno === undefined ? versions?.node : undefined
}

const version = versionOfNode(globalThis)
if (version !== undefined) {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor, oldestMinor] = OLDEST
  if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor))
    throw new MessagingWebhooksError('node_unsupported', `This is Node.js ${version}.`)
}

import manifest from './package.json' with { type: 'json' }

/** @type {Partial<import('typedoc').TypeDocOptions> & Partial<import('typedoc-plugin-markdown').PluginOptions>} */
const options = {
  // The first entry point that exports a name documents it: `/store` before the receiver.
  entryPoints: Object.values(manifest.exports)
    .flatMap((entry) => entry['@messaging-webhooks/source'] ?? [])
    .toReversed(),
  tsconfig: 'tsconfig.json',
  plugin: ['typedoc-plugin-markdown'],
  out: 'docs/api',
  readme: 'none',
  disableSources: true,
  excludeExternals: true,
  outputFileStrategy: 'modules',
  hidePageHeader: true,
  hideBreadcrumbs: true,
  useHTMLAnchors: true,
  anchorPrefix: 'api-',
  treatWarningsAsErrors: true,
  validation: { notExported: false, invalidLink: true, notDocumented: true },
  requiredToBeDocumented: ['Class', 'Interface', 'Function', 'TypeAlias', 'Variable', 'Enum'],
}

// TypeDoc loads its configuration by its default export.
export default options

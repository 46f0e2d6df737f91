package bucketurl

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"os"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"gocloud.dev/blob"
	"gocloud.dev/blob/azureblob"

	"github.com/resourcesync-go/resourcesync/adapters/bucket/azurebucket"
)

// openAzure opens a container as the driver does, with the same variables of the environment, and
// with a limit for the responses to requests of listings.
func openAzure(ctx context.Context, u *url.URL) (*blob.Bucket, error) {
	opener := azureblob.URLOpener{MakeClient: azureClient, ServiceURLOptions: *azureblob.NewDefaultServiceURLOptions()}
	if opener.ServiceURLOptions.SASToken != "" {
		// The token is part of the URL of the service. A parameter must not send it elsewhere.
		usual, err := azureblob.NewServiceURL(&opener.ServiceURLOptions)
		if err != nil {
			return nil, err
		}
		opener.MakeClient = func(service azureblob.ServiceURL, name azureblob.ContainerName) (*container.Client, error) {
			if !hasSameOrigin(string(service), string(usual)) {
				return nil, errors.New("the URL of a container cannot change the address of the service when AZURE_STORAGE_SAS_TOKEN is set")
			}
			return azureClient(service, name)
		}
	}
	return opener.OpenBucketURL(ctx, u)
}

func hasSameOrigin(a, b string) bool {
	first, err := url.Parse(a)
	second, failed := url.Parse(b)
	return err == nil && failed == nil && strings.EqualFold(first.Scheme, second.Scheme) && strings.EqualFold(first.Host, second.Host)
}

// azureClient returns a client with the credentials in the environment.
func azureClient(service azureblob.ServiceURL, name azureblob.ContainerName) (*container.Client, error) {
	o := &container.ClientOptions{ClientOptions: policy.ClientOptions{Transport: azurebucket.Transport(nil)}}
	at, err := url.JoinPath(string(service), string(name))
	if err != nil {
		return nil, err
	}
	account, key := os.Getenv("AZURE_STORAGE_ACCOUNT"), os.Getenv("AZURE_STORAGE_KEY")
	connection := cmp.Or(os.Getenv("AZURE_STORAGE_CONNECTION_STRING"), os.Getenv("AZURE_STORAGEBLOB_CONNECTIONSTRING"))
	switch {
	case account != "" && key != "":
		credential, err := azblob.NewSharedKeyCredential(account, key)
		if err != nil {
			return nil, err
		}
		return container.NewClientWithSharedKeyCredential(at, credential, o)
	case os.Getenv("AZURE_STORAGE_SAS_TOKEN") != "":
		return container.NewClientWithNoCredential(at, o)
	case connection != "":
		return container.NewClientFromConnectionString(connection, string(name), o)
	}
	credential, err := azidentity.NewDefaultAzureCredential(nil)
	if err != nil {
		return nil, err
	}
	return container.NewClient(at, credential, o)
}
